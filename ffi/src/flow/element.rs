//! `sluice_element`, `sluice_elements`: a value of the caller on its way through a stream.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::border;
use crate::guard::{Fail, guard};
use crate::handle::{self, object};
use crate::item::Item;
use crate::status::Status;

/// A value that passes through streams. A call that takes it over owns it from then on: `release`
/// runs exactly once, on any thread, with no lock of the library held, when the last stage, queue or
/// list lets go of it. A stage that passes an element on passes the same value: nothing is copied.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Element {
    /// Yours; the library never follows it.
    pub value: *mut c_void,
    /// Frees the value. NULL: nothing to free.
    pub release: Option<unsafe extern "C" fn(value: *mut c_void)>,
    /// What it counts for on an edge that is limited in bytes.
    pub bytes: u64,
}

impl Element {
    pub(crate) const NONE: Element =
        Element { value: std::ptr::null_mut(), release: None, bytes: 0 };

    /// An element that owns a reference to an item.
    pub(crate) fn of_item(item: *mut Item, bytes: u64) -> Self {
        unsafe extern "C" fn release(item: *mut c_void) {
            let _nobody_is_told = handle::release(item.cast::<Item>().cast_const());
        }
        Element { value: item.cast(), release: Some(release), bytes }
    }
}

struct Owned(Element);

// SAFETY: the contract of `sluice_element` says that its value may be used and released on any thread.
unsafe impl Send for Owned {}
// SAFETY: as above; the library only hands the pointer out.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the contract of `sluice_element`; a value is dropped once.
            unsafe { release(self.0.value) };
        }
    }
}

/// An element that the library owns. Clones are the same element.
#[derive(Clone)]
pub(crate) struct Held(Arc<Owned>);

impl Held {
    pub(crate) fn new(element: Element) -> Self {
        Held(Arc::new(Owned(element)))
    }

    /// Takes an element over.
    pub(crate) fn take(element: *const Element) -> Result<Self, Fail> {
        border::read(element).map(Held::new)
    }

    /// Leaves the element to the caller, if nobody else has it.
    pub(crate) fn give_back(self) {
        if let Some(mut owned) = Arc::into_inner(self.0) {
            owned.0.release = None;
        }
    }

    pub(crate) fn value(&self) -> *mut c_void {
        self.0.0.value
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.0.bytes
    }

    /// One element whose value is a number, with nothing to free.
    pub(crate) fn number(number: usize) -> Self {
        let value = std::ptr::without_provenance_mut(number);
        Held::new(Element { value, ..Element::NONE })
    }

    /// One element that is an item: its value is a `sluice_item`.
    pub(crate) fn item(item: sluicegate::Item) -> Result<Self, Fail> {
        let item = Item::new(item);
        let bytes = item.size();
        Ok(Held::new(Element::of_item(handle::new(item)?, bytes)))
    }

    /// One element that is a list: its value is a `sluice_elements`.
    pub(crate) fn list(elements: Vec<Held>) -> Result<Self, Fail> {
        unsafe extern "C" fn release(list: *mut c_void) {
            let _nobody_is_told = handle::release(list.cast::<Elements>().cast_const());
        }
        let bytes = elements.iter().map(Held::bytes).fold(0, u64::saturating_add);
        let list = handle::new(Elements::new(elements))?;
        Ok(Held::new(Element { value: list.cast(), release: Some(release), bytes }))
    }
}

/// A list of elements, which it keeps alive. Lists are what results are handed out as; a stage that
/// makes groups hands down elements whose value is a sluice_elements, borrowed like any other value.
pub struct Elements(Mutex<Vec<Held>>);
object!(Elements = 23);

impl Elements {
    pub(crate) fn new(elements: Vec<Held>) -> Self {
        Elements(Mutex::new(elements))
    }

    pub(crate) fn take(&self) -> Vec<Held> {
        std::mem::take(&mut *self.lock())
    }

    pub(crate) fn copy(&self) -> Vec<Held> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes an empty list.
///
/// out      the list, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_elements_new(out: *mut *mut Elements) -> Status {
    guard(|| border::put_new(out, Elements::new(Vec::new())))
}

/// Adds a reference.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_elements_retain(elements: *const Elements) -> Status {
    guard(|| handle::retain(elements))
}

/// Takes a reference away; with the last one the list lets go of its elements.
///
/// elements  may be NULL
/// returns   SLUICE_OK | SLUICE_INVALID_ARGUMENT (not alive) | SLUICE_FORKED
/// threads   any number at once; does not wait; may run release functions
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_elements_release(elements: *mut Elements) -> Status {
    guard(|| handle::release(elements))
}

/// Puts an element at the end of a list.
///
/// element  taken over on SLUICE_OK; stays yours otherwise
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_elements_push(
    elements: *const Elements,
    element: *const Element,
) -> Status {
    guard(|| {
        let elements = handle::get(elements)?;
        let held = Held::take(element)?;
        elements.lock().push(held);
        Ok(())
    })
}

/// How many elements a list has.
///
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_elements_count(
    elements: *const Elements,
    out: *mut usize,
) -> Status {
    guard(|| border::put(out, handle::get(elements)?.lock().len()))
}

/// The value of an element of a list.
///
/// index    from 0
/// out      borrowed: alive as long as the list is
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT, also behind the end | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_elements_value(
    elements: *const Elements,
    index: usize,
    out: *mut *mut c_void,
) -> Status {
    guard(|| {
        let elements = handle::get(elements)?;
        let value = elements.lock().get(index).map(Held::value);
        border::put(out, value.ok_or(Status::SLUICE_INVALID_ARGUMENT)?)
    })
}
