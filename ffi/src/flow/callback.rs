//! The functions that a caller hands in, each with a context and how to free it.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use libc::c_int;
use sluicegate::flow::{Feedback, Page};
use sluicegate::{Error, ErrorKind};

use super::element::{Element, Elements, Held};
use crate::border;
use crate::error::ErrorObject;
use crate::guard::Fail;
use crate::handle;
use crate::status::{self, Status};

/// Makes one element of another.
///
/// This and the structs like it hold a function of yours that stages call. `call` runs on a thread of
/// the scope (in a stepped scope on the one that settles it), with no lock of the library held; one
/// run calls it from one thread at a time, several runs of one blueprint at once. It answers SLUICE_OK,
/// or a status that fails the stream: with `*err` if it is set, which is the library's then. What it is
/// shown it borrows, for the time of the call. It may not jump out, nor throw. `release` runs exactly
/// once for every struct that was handed over, whatever the call that took it answered: when the last
/// blueprint and the last run with it are gone.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Mapper {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Writes what comes out to `out`, which is the library's with SLUICE_OK.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            value: *mut c_void,
            out: *mut Element,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Says yes or no to an element. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Predicate {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Writes its answer to `out`, which holds false before.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            value: *mut c_void,
            out: *mut bool,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Says which of several an element is for. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Chooser {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Writes a number from 0 to `out`; one that is too large fails the stream.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            value: *mut c_void,
            out: *mut usize,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Looks at an element. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Observer {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            value: *mut c_void,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Makes the next state of a state and an element. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Folder {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Writes the next state to `out`: a value of its own, for the state before is let go of.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            state: *mut c_void,
            value: *mut c_void,
            out: *mut Element,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Makes any number of elements of one. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Expander {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Puts what comes out on the list, which is borrowed.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            value: *mut c_void,
            out: *const Elements,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Fetches rows by position. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fetcher {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Puts at most `n` rows on the list, which is borrowed, beginning with number `from`; fewer
    /// are the last. It may wait.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            from: u64,
            n: u64,
            out: *const Elements,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Makes an element of another, or none. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sifter {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Writes true to `out_some`, which holds false before, and what comes out to `out`; or
    /// leaves both as they are, and nothing comes out.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            value: *mut c_void,
            out: *mut Element,
            out_some: *mut bool,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Says whether an element goes round a loop once more or leaves it. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Looper {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Writes to `out` what goes on in the element's place, and true to `out_again`, which
    /// holds false before, if that goes round once more.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            value: *mut c_void,
            out: *mut Element,
            out_again: *mut bool,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Makes a last element of a failure, or none. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Recoverer {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Is shown what the stream above failed with. Writes true to `out_some`, which holds false
    /// before, and the last element to `out`; or leaves both as they are, and the failure passes.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            failure: *const ErrorObject,
            out: *mut Element,
            out_some: *mut bool,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Fetches rows by the page. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pager {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Puts the rows of the page that begins at `cursor` on the list, which is borrowed; there
    /// may be none. Unless it is the last page, writes true to `out_more`, which holds false before, and
    /// where the next one begins to `next`, which is the library's with SLUICE_OK. It may wait.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            cursor: *mut c_void,
            rows: *const Elements,
            next: *mut Element,
            out_more: *mut bool,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Gives the elements of one run, one a call. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Puller {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Called for each element that was asked for; it may wait. Writes the next one to `out`
    /// and answers SLUICE_OK, or SLUICE_END_OF_STREAM.
    pub call: Option<
        unsafe extern "C" fn(
            ctx: *mut c_void,
            out: *mut Element,
            err: *mut *mut ErrorObject,
        ) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Opens what one run pulls from. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Opener {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Called once a run, on the thread that runs the graph. Writes to `out`, which is the
    /// library's with SLUICE_OK.
    pub call: Option<
        unsafe extern "C" fn(ctx: *mut c_void, out: *mut Puller, err: *mut *mut ErrorObject) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

/// Opens a descriptor for one run. See sluice_mapper.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FdOpener {
    /// Handed to both functions.
    pub ctx: *mut c_void,
    /// Not NULL. Called once a run, before the first byte. Writes a descriptor to `out`, which is the
    /// library's with SLUICE_OK: it is closed with the run. What it fails with fails the stream with SLUICE_IO.
    pub call: Option<
        unsafe extern "C" fn(ctx: *mut c_void, out: *mut c_int, err: *mut *mut ErrorObject) -> i32,
    >,
    /// Frees what `ctx` stands for. May be NULL.
    pub release: Option<unsafe extern "C" fn(ctx: *mut c_void)>,
}

type Release = Option<unsafe extern "C" fn(ctx: *mut c_void)>;

/// One of the structs above: what they have in common.
pub(crate) trait Function: Copy {
    type Call: Copy + Send + Sync;
    fn call(&self) -> Option<Self::Call>;
    fn ctx(&self) -> *mut c_void;
    fn free(&self) -> Release;
}

macro_rules! function {
    ($name:ident: $($argument:ty),+) => {
        impl Function for $name {
            type Call = unsafe extern "C" fn(*mut c_void, $($argument,)+ *mut *mut ErrorObject) -> i32;
            fn call(&self) -> Option<Self::Call> {
                self.call
            }
            fn ctx(&self) -> *mut c_void {
                self.ctx
            }
            fn free(&self) -> Release {
                self.release
            }
        }
    };
}

function!(Mapper: *mut c_void, *mut Element);
function!(Predicate: *mut c_void, *mut bool);
function!(Chooser: *mut c_void, *mut usize);
function!(Observer: *mut c_void);
function!(Folder: *mut c_void, *mut c_void, *mut Element);
function!(Expander: *mut c_void, *const Elements);
function!(Fetcher: u64, u64, *const Elements);
function!(Sifter: *mut c_void, *mut Element, *mut bool);
function!(Looper: *mut c_void, *mut Element, *mut bool);
function!(Recoverer: *const ErrorObject, *mut Element, *mut bool);
function!(Pager: *mut c_void, *const Elements, *mut Element, *mut bool);
function!(Puller: *mut Element);
function!(Opener: *mut Puller);
function!(FdOpener: *mut c_int);

/// A function that the library owns; released when it goes.
pub(crate) struct Callback<F: Function>(F);

// SAFETY: the contract of `sluice_mapper`: any thread may call and release.
unsafe impl<F: Function> Send for Callback<F> {}
// SAFETY: as above, several at once.
unsafe impl<F: Function> Sync for Callback<F> {}

impl<F: Function> Drop for Callback<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.free() {
            // SAFETY: the contract of `sluice_mapper`; a value is dropped once.
            unsafe { release(self.0.ctx()) };
        }
    }
}

impl<F: Function> Callback<F> {
    /// Takes a function over. From here on its release function runs exactly once, come what may.
    pub(crate) fn take(function: *const F) -> Result<Arc<Self>, Fail> {
        Self::own(border::read(function)?)
    }

    fn own(function: F) -> Result<Arc<Self>, Fail> {
        let callback = Callback(function);
        match callback.0.call() {
            Some(_) => Ok(Arc::new(callback)),
            None => Err(border::invalid("the function is NULL")),
        }
    }

    fn call(
        &self,
        call: impl FnOnce(F::Call, *mut c_void, *mut *mut ErrorObject) -> i32,
    ) -> Result<(), Error> {
        match self.answer(call) {
            (0, _) => Ok(()),
            (_, Some(told)) => Err(told),
            (number, None) => Err(unsaid(number)),
        }
    }

    fn answer(
        &self,
        call: impl FnOnce(F::Call, *mut c_void, *mut *mut ErrorObject) -> i32,
    ) -> (i32, Option<Error>) {
        let function = self.0.call().expect("checked when it was taken over");
        let mut err = std::ptr::null_mut();
        let answer = call(function, self.0.ctx(), &raw mut err);
        let told = handle::get(err.cast_const()).ok().map(|told| told.error());
        let _nobody_is_told = handle::release(err.cast_const());
        (answer, told)
    }
}

/// The error of a function that only answered a status.
fn unsaid(number: i32) -> Error {
    match status::kind(number) {
        Some(kind) => kind.into(),
        None => Error::new(ErrorKind::StageFailed, format!("the function answered {number}")),
    }
}

impl Callback<Mapper> {
    pub(crate) fn map(&self, input: &Held) -> Result<Held, Error> {
        let mut out = Element::NONE;
        // SAFETY: the contract of `sluice_mapper`; the value is alive while `input` is.
        self.call(|call, ctx, err| unsafe { call(ctx, input.value(), &raw mut out, err) })?;
        Ok(Held::new(out))
    }
}

impl Callback<Predicate> {
    pub(crate) fn test(&self, input: &Held) -> Result<bool, Error> {
        let mut out = false;
        // SAFETY: the contract of `sluice_predicate`; the value is alive while `input` is.
        self.call(|call, ctx, err| unsafe { call(ctx, input.value(), &raw mut out, err) })?;
        Ok(out)
    }
}

impl Callback<Chooser> {
    pub(crate) fn choose(&self, input: &Held) -> Result<usize, Error> {
        let mut out = 0;
        // SAFETY: the contract of `sluice_chooser`; the value is alive while `input` is.
        self.call(|call, ctx, err| unsafe { call(ctx, input.value(), &raw mut out, err) })?;
        Ok(out)
    }
}

impl Callback<Observer> {
    pub(crate) fn look(&self, input: &Held) -> Result<(), Error> {
        // SAFETY: the contract of `sluice_observer`; the value is alive while `input` is.
        self.call(|call, ctx, err| unsafe { call(ctx, input.value(), err) })
    }
}

impl Callback<Folder> {
    pub(crate) fn fold(&self, state: &Held, input: &Held) -> Result<Held, Error> {
        let mut out = Element::NONE;
        // SAFETY: the contract of `sluice_folder`; the values are alive while their owners are.
        self.call(|call, ctx, err| unsafe {
            call(ctx, state.value(), input.value(), &raw mut out, err)
        })?;
        Ok(Held::new(out))
    }
}

/// What a function puts on a list that it is lent.
fn filled(fill: impl FnOnce(*const Elements) -> Result<(), Error>) -> Result<Vec<Held>, Error> {
    let list = handle::new(Elements::new(Vec::new())).map_err(|_| ErrorKind::LimitReached)?;
    let done = fill(list.cast_const());
    let all = handle::get(list.cast_const()).map_or_else(|_| Vec::new(), |list| list.take());
    let _nobody_is_told = handle::release(list.cast_const());
    done.map(|()| all)
}

impl Callback<Expander> {
    pub(crate) fn expand(&self, input: &Held) -> Result<Vec<Held>, Error> {
        // SAFETY: the contract of `sluice_expander`; value and list are alive during the call.
        filled(|list| self.call(|call, ctx, err| unsafe { call(ctx, input.value(), list, err) }))
    }
}

impl Callback<Fetcher> {
    pub(crate) fn fetch(&self, from: u64, n: u64) -> Result<Vec<Held>, Error> {
        // SAFETY: the contract of `sluice_fetcher`; the list is alive during the call.
        filled(|list| self.call(|call, ctx, err| unsafe { call(ctx, from, n, list, err) }))
    }
}

impl Callback<Sifter> {
    pub(crate) fn sift(&self, input: &Held) -> Result<Option<Held>, Error> {
        let (mut out, mut some) = (Element::NONE, false);
        // SAFETY: the contract of `sluice_sifter`; the value is alive while `input` is.
        self.call(|call, ctx, err| unsafe {
            call(ctx, input.value(), &raw mut out, &raw mut some, err)
        })?;
        Ok(some.then(|| Held::new(out)))
    }
}

impl Callback<Looper> {
    pub(crate) fn turn(&self, input: &Held) -> Result<Feedback<Held, Held>, Error> {
        let (mut out, mut again) = (Element::NONE, false);
        // SAFETY: the contract of `sluice_looper`; the value is alive while `input` is.
        self.call(|call, ctx, err| unsafe {
            call(ctx, input.value(), &raw mut out, &raw mut again, err)
        })?;
        let held = Held::new(out);
        Ok(if again { Feedback::Again(held) } else { Feedback::Out(held) })
    }
}

impl Callback<Recoverer> {
    pub(crate) fn recover(&self, failure: &Error) -> Result<Option<Held>, Error> {
        let (mut out, mut some) = (Element::NONE, false);
        let shown = handle::new(ErrorObject::new(failure.clone()))
            .map_err(|_| Error::from(ErrorKind::LimitReached))?;
        // SAFETY: the contract of `sluice_recoverer`; the error is alive during the call.
        let done = self.call(|call, ctx, err| unsafe {
            call(ctx, shown.cast_const(), &raw mut out, &raw mut some, err)
        });
        let _nobody_is_told = handle::release(shown.cast_const());
        done.map(|()| some.then(|| Held::new(out)))
    }
}

impl Callback<Pager> {
    pub(crate) fn fetch(&self, cursor: &Held) -> Result<Page<Held, Held>, Error> {
        let (mut next, mut more) = (Element::NONE, false);
        let rows = filled(|list| {
            // SAFETY: the contract of `sluice_pager`; cursor and list are alive during the call.
            self.call(|call, ctx, err| unsafe {
                call(ctx, cursor.value(), list, &raw mut next, &raw mut more, err)
            })
        })?;
        Ok(Page { rows, next: more.then(|| Held::new(next)) })
    }
}

impl Callback<Puller> {
    pub(crate) fn pull(&self) -> Result<Option<Held>, Error> {
        let mut out = Element::NONE;
        // SAFETY: the contract of `sluice_puller`.
        match self.answer(|call, ctx, err| unsafe { call(ctx, &raw mut out, err) }) {
            (0, _) => Ok(Some(Held::new(out))),
            (_, Some(told)) => Err(told),
            (number, None) if number == Status::SLUICE_END_OF_STREAM as i32 => Ok(None),
            (number, None) => Err(unsaid(number)),
        }
    }
}

impl Callback<Opener> {
    pub(crate) fn open(&self) -> Result<Arc<Callback<Puller>>, Error> {
        let mut out = Puller { ctx: std::ptr::null_mut(), call: None, release: None };
        // SAFETY: the contract of `sluice_opener`.
        self.call(|call, ctx, err| unsafe { call(ctx, &raw mut out, err) })?;
        Callback::own(out)
            .map_err(|_| Error::new(ErrorKind::InvalidArgument, "the opener gave no function"))
    }
}

impl Callback<FdOpener> {
    pub(crate) fn open_fd(&self) -> Result<File, Error> {
        let mut out = -1;
        // SAFETY: the contract of `sluice_fd_opener`.
        self.call(|call, ctx, err| unsafe { call(ctx, &raw mut out, err) })?;
        if out < 0 {
            return Err(Error::new(ErrorKind::InvalidArgument, "the opener gave no descriptor"));
        }
        // SAFETY: the contract of `sluice_fd_opener`: the descriptor is the library's from now on.
        Ok(File::from(unsafe { OwnedFd::from_raw_fd(out) }))
    }
}
