//! The tables behind the opaque handles.
//!
//! A handle is a number in the clothes of a pointer: kind, generation and index of a slot. It is
//! looked up, never followed, so NULL, a released handle, one of another kind and plain garbage are
//! all answered with `SLUICE_INVALID_ARGUMENT`. Its top bit is set, so following it by mistake
//! faults at once on every 64-bit system.
//!
//! A slot counts its users (references that the caller holds) apart from its pins (calls that run
//! in it). The object goes when both are zero: whoever releases a handle in the middle of a call on
//! another thread pulls nothing away from it. Slots are recycled under a new generation and never
//! given back to the system; one whose generations are used up retires.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::fail::Fail;
use crate::fork;
use crate::status::Status;

const _: () = assert!(usize::BITS == 64, "handles need 64 bits");

const INDEX_BITS: u32 = 29;
const GENERATION_BITS: u32 = 28;
const USER_BITS: u32 = 16;
const PIN_BITS: u32 = 20;

const TOP: u64 = 1 << 63;
const MAX_GENERATION: u64 = (1 << GENERATION_BITS) - 1;
const MAX_USERS: u64 = (1 << USER_BITS) - 1;
const MAX_PINS: u64 = (1 << PIN_BITS) - 1;
const ONE_PIN: u64 = 1;
const ONE_USER: u64 = 1 << PIN_BITS;

const FIRST_BLOCK_BITS: u32 = 6;
const BLOCKS: usize = (INDEX_BITS - FIRST_BLOCK_BITS) as usize;

static LIVE: AtomicU64 = AtomicU64::new(0);

/// Objects alive in this process, of all kinds.
pub(crate) fn live() -> u64 {
    LIVE.load(Ordering::Relaxed)
}

/// Something that has handles.
pub(crate) trait Object: Send + Sync + Sized + 'static {
    /// Tells the kinds apart; part of every handle.
    const KIND: u8;
    /// The table of this kind.
    fn table() -> &'static Table<Self>;
}

/// Gives a type its table: `object!(Gate = 1)`.
macro_rules! object {
    ($name:ident = $kind:literal) => {
        impl crate::handle::Object for $name {
            const KIND: u8 = $kind;
            fn table() -> &'static crate::handle::Table<Self> {
                static TABLE: crate::handle::Table<$name> = crate::handle::Table::new();
                &TABLE
            }
        }
    };
}
pub(crate) use object;

/// A slot's state in one word: generation, users, pins.
#[derive(Clone, Copy)]
struct State(u64);

impl State {
    fn generation(self) -> u64 {
        self.0 >> (USER_BITS + PIN_BITS)
    }
    fn users(self) -> u64 {
        (self.0 >> PIN_BITS) & MAX_USERS
    }
    fn pins(self) -> u64 {
        self.0 & MAX_PINS
    }
    fn fresh(generation: u64) -> u64 {
        generation << (USER_BITS + PIN_BITS) | ONE_USER
    }
}

struct Slot<T> {
    state: AtomicU64,
    /// The process generation that the object was made in.
    made_in: AtomicU32,
    /// Index + 1 of the next free slot, 0 for none.
    next_free: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// All objects of one kind. Without locks, so that a fork can leave nothing locked behind.
pub(crate) struct Table<T> {
    blocks: [AtomicPtr<Slot<T>>; BLOCKS],
    /// A count against ABA in the upper half, index + 1 of the first free slot in the lower.
    free: AtomicU64,
    /// Slots ever opened.
    opened: AtomicU32,
}

// SAFETY: the values are Send + Sync by the bound on Object, and a slot's value is written only by
// the one thread that took the slot from the free list or brought its counts to zero.
unsafe impl<T: Send + Sync> Sync for Table<T> {}

impl<T: Object> Table<T> {
    pub(crate) const fn new() -> Self {
        Table {
            blocks: [const { AtomicPtr::new(ptr::null_mut()) }; BLOCKS],
            free: AtomicU64::new(0),
            opened: AtomicU32::new(0),
        }
    }

    /// Where slot `index` lies: block k has 64 · 2^k slots.
    fn place(index: u32) -> (usize, usize, usize) {
        let shifted = index + (1 << FIRST_BLOCK_BITS);
        let block = shifted.ilog2() - FIRST_BLOCK_BITS;
        let size = 1_u32 << (FIRST_BLOCK_BITS + block);
        (block as usize, (shifted - size) as usize, size as usize)
    }

    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (block, offset, _) = Self::place(index);
        let first = self.blocks.get(block)?.load(Ordering::Acquire);
        if first.is_null() {
            return None;
        }
        // SAFETY: a block holds as many slots as `place` says and is never freed.
        Some(unsafe { &*first.add(offset) })
    }

    fn pop_free(&self) -> Option<u32> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = (head as u32).checked_sub(1)?;
            let next = self.slot(index)?.next_free.load(Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(next);
            match self.free.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(index),
                Err(now) => head = now,
            }
        }
    }

    fn push_free(&self, index: u32, slot: &Slot<T>) {
        let mut head = self.free.load(Ordering::Relaxed);
        loop {
            slot.next_free.store(head as u32, Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(index + 1);
            match self.free.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn open(&self) -> Result<u32, Fail> {
        let limit = (1 << INDEX_BITS) - (1 << FIRST_BLOCK_BITS);
        let index = self
            .opened
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < limit).then(|| n + 1))
            .map_err(|_| Fail::from(Status::SLUICE_LIMIT_REACHED))?;
        let (block, _, size) = Self::place(index);
        let place = &self.blocks[block];
        if place.load(Ordering::Acquire).is_null() {
            let slots: Box<[Slot<T>]> = (0..size)
                .map(|_| Slot {
                    state: AtomicU64::new(0),
                    made_in: AtomicU32::new(0),
                    next_free: AtomicU32::new(0),
                    value: UnsafeCell::new(MaybeUninit::uninit()),
                })
                .collect();
            let first = Box::into_raw(slots).cast::<Slot<T>>();
            let raced =
                place.compare_exchange(ptr::null_mut(), first, Ordering::AcqRel, Ordering::Acquire);
            if raced.is_err() {
                // SAFETY: it came from the box above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(first, size)) });
            }
        }
        Ok(index)
    }

    fn insert(&self, value: T) -> Result<*mut T, Fail> {
        fork::watch();
        let index = match self.pop_free() {
            Some(index) => index,
            None => self.open()?,
        };
        let slot = self.slot(index).expect("an opened slot has its block");
        let generation = State(slot.state.load(Ordering::Acquire)).generation();
        // SAFETY: the slot is free and was just taken, so nobody else touches its value.
        unsafe { (*slot.value.get()).write(value) };
        slot.made_in.store(fork::generation(), Ordering::Relaxed);
        slot.state.store(State::fresh(generation), Ordering::Release);
        LIVE.fetch_add(1, Ordering::Relaxed);
        let bits = TOP
            | u64::from(T::KIND) << (GENERATION_BITS + INDEX_BITS)
            | generation << INDEX_BITS
            | u64::from(index);
        Ok(ptr::without_provenance_mut(bits as usize))
    }

    /// The slot that a handle names and the generation it was made under.
    fn find(&self, handle: *const T) -> Result<(&Slot<T>, u32, u64), Fail> {
        let bits = handle.addr() as u64;
        let kind = TOP >> (GENERATION_BITS + INDEX_BITS) | u64::from(T::KIND);
        if bits >> (GENERATION_BITS + INDEX_BITS) != kind {
            return Err(Status::SLUICE_INVALID_ARGUMENT.into());
        }
        let index = (bits & ((1 << INDEX_BITS) - 1)) as u32;
        let generation = bits >> INDEX_BITS & MAX_GENERATION;
        if index >= (1 << INDEX_BITS) - (1 << FIRST_BLOCK_BITS) {
            return Err(Status::SLUICE_INVALID_ARGUMENT.into());
        }
        let slot = self.slot(index).ok_or(Status::SLUICE_INVALID_ARGUMENT)?;
        Ok((slot, index, generation))
    }

    /// Moves a live slot's state by `step`, or says why the handle is none.
    fn step(
        slot: &Slot<T>,
        generation: u64,
        step: impl Fn(State) -> Result<u64, Status>,
    ) -> Result<u64, Fail> {
        let mut state = slot.state.load(Ordering::Acquire);
        loop {
            if State(state).generation() != generation || State(state).users() == 0 {
                return Err(Status::SLUICE_INVALID_ARGUMENT.into());
            }
            if slot.made_in.load(Ordering::Relaxed) != fork::generation() {
                return Err(Status::SLUICE_FORKED.into());
            }
            let new = step(State(state))?;
            match slot.state.compare_exchange_weak(state, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Ok(new),
                Err(now) => state = now,
            }
        }
    }

    /// Drops the object of a slot whose counts have just come to zero, and recycles the slot.
    fn vacate(&self, slot: &Slot<T>, index: u32, generation: u64) {
        // SAFETY: users and pins are zero, so no new pin can be made and this thread, which brought
        // the last of them to zero, is the only one that touches the value.
        let value = unsafe { (*slot.value.get()).assume_init_read() };
        LIVE.fetch_sub(1, Ordering::Relaxed);
        if generation < MAX_GENERATION {
            slot.state.store((generation + 1) << (USER_BITS + PIN_BITS), Ordering::Release);
            self.push_free(index, slot);
        }
        drop(value); // last: it may run foreign code, and may panic
    }
}

/// A handle for `value`, with one user.
pub(crate) fn new<T: Object>(value: T) -> Result<*mut T, Fail> {
    T::table().insert(value)
}

/// The object of a handle, kept alive while the answer lives.
pub(crate) fn get<T: Object>(handle: *const T) -> Result<Pinned<T>, Fail> {
    let table = T::table();
    let (slot, index, generation) = table.find(handle)?;
    Table::step(slot, generation, |state| match state.pins() {
        MAX_PINS => Err(Status::SLUICE_LIMIT_REACHED),
        _ => Ok(state.0 + ONE_PIN),
    })?;
    Ok(Pinned { slot, index, generation })
}

/// One more user.
pub(crate) fn retain<T: Object>(handle: *const T) -> Result<(), Fail> {
    let (slot, _, generation) = T::table().find(handle)?;
    Table::step(slot, generation, |state| match state.users() {
        MAX_USERS => Err(Status::SLUICE_LIMIT_REACHED),
        _ => Ok(state.0 + ONE_USER),
    })?;
    Ok(())
}

/// One user less; the last one lets the object go. NULL is nobody.
pub(crate) fn release<T: Object>(handle: *const T) -> Result<(), Fail> {
    if handle.is_null() {
        return Ok(());
    }
    let table = T::table();
    let (slot, index, generation) = table.find(handle)?;
    let left = Table::step(slot, generation, |state| Ok(state.0 - ONE_USER))?;
    if State(left).users() == 0 && State(left).pins() == 0 {
        table.vacate(slot, index, generation);
    }
    Ok(())
}

/// An object that a call runs in.
pub(crate) struct Pinned<T: Object> {
    slot: &'static Slot<T>,
    index: u32,
    generation: u64,
}

impl<T: Object> Deref for Pinned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the slot was live when it was pinned, and is not vacated while it is.
        unsafe { (*self.slot.value.get()).assume_init_ref() }
    }
}

impl<T: Object> Drop for Pinned<T> {
    fn drop(&mut self) {
        let before = State(self.slot.state.fetch_sub(ONE_PIN, Ordering::AcqRel));
        if before.users() == 0 && before.pins() == 1 {
            T::table().vacate(self.slot, self.index, self.generation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Probe(Arc<()>);
    object!(Probe = 63);

    #[test]
    fn a_handle_lives_as_long_as_users_and_pins() {
        let mark = Arc::new(());
        let handle = new(Probe(Arc::clone(&mark))).expect("room");
        retain(handle).expect("live");
        release(handle).expect("live");
        let pinned = get(handle).expect("live");
        release(handle).expect("live");
        assert!(matches!(get(handle), Err(Fail::Status(Status::SLUICE_INVALID_ARGUMENT))));
        assert!(release(handle).is_err(), "a double release takes nothing from a running call");
        assert_eq!(Arc::strong_count(&pinned.0), 2);
        drop(pinned);
        assert_eq!(Arc::strong_count(&mark), 1);
        let other = new(Probe(Arc::clone(&mark))).expect("room");
        assert_ne!(handle, other, "a recycled slot has another name");
        assert!(release(handle).is_err());
        release(other).expect("live");
        assert!(release::<Probe>(ptr::null()).is_ok());
    }

    #[test]
    fn garbage_is_no_handle() {
        for bits in [1, 8, usize::MAX, 1 << 63, 0x7fff_0000_1000] {
            assert!(get::<Probe>(ptr::without_provenance(bits)).is_err());
        }
    }

    #[test]
    fn many_threads_make_and_release() {
        let mark = Arc::new(());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut held = Vec::new();
                    for round in 0..20_000 {
                        held.push(new(Probe(Arc::clone(&mark))).expect("room"));
                        if round % 3 == 0 {
                            release(held.swap_remove(round % held.len())).expect("live");
                        }
                    }
                    for handle in held {
                        drop(get(handle).expect("live"));
                        release(handle).expect("live");
                    }
                });
            }
        });
        assert_eq!(Arc::strong_count(&mark), 1);
    }
}
