//! `sluice_source`, `sluice_sink`: streams of requests and live feeds at the ends of a pipeline.

use sluicegate::Error;
use sluicegate::ErrorKind;
use sluicegate::flow::{Flow, Sink as CoreSink, Source as Core};

use super::Mat;
use super::blueprint::{Sink, Source, put_sink, put_source};
use super::completion::Done;
use super::element::{Element, Held};
use crate::border;
use crate::feed::{self, Feed};
use crate::guard::guard;
use crate::handle;
use crate::input::Input;
use crate::item::Item;
use crate::output::Output;
use crate::status::Status;

/// An item of a stream as an element.
pub(super) fn element(item: sluicegate::Item) -> Result<Held, Error> {
    Held::item(item)
        .map_err(|_| Error::new(ErrorKind::LimitReached, "no handle is left for an item"))
}

/// The item that an element is.
pub(super) fn item(held: &Held) -> Result<sluicegate::Item, Error> {
    match handle::get(held.value().cast::<Item>().cast_const()) {
        Ok(item) => Ok(item.item()),
        Err(_) => Err(Error::new(
            ErrorKind::InvalidArgument,
            "an element for a stream has a value that is no sluice_item: make it with \
             sluice_item_element",
        )),
    }
}

/// An element whose value is an item, for a sink that writes to a stream. It counts for as many bytes
/// as its byte string or text has, or its CBOR.
///
/// item     this reference is the element's on SLUICE_OK; stays yours otherwise
/// out      the element, yours to hand on or to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_item_element(item: *mut Item, out: *mut Element) -> Status {
    guard(|| {
        let bytes = handle::get(item.cast_const())?.size();
        border::put(out, Element::of_item(item, bytes))
    })
}

/// The values of an input stream with their metadata: the value of each element is a sluice_item,
/// borrowed from the element. Each is read once it is asked for, and reading grants the credit for
/// another (L10): the sender stands still while nothing is asked for. Ends as the stream ends.
/// Cancelled, it gives the stream up as sluice_input_cancel does. It runs once: another run fails with
/// SLUICE_ALREADY_SUBSCRIBED.
///
/// input    stays yours; whoever reads it beside the source takes values away from it
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_wire(input: *const Input, out: *mut *mut Source) -> Status {
    guard(|| {
        border::need(out)?;
        let items = Core::wire(handle::get(input)?.stream());
        let elements = items.via(Flow::try_map(element).named("items"));
        put_source(out, elements.map_mat(|_| Vec::new()))
    })
}

/// The items of a live feed: the value of each element is a sluice_item, of which
/// sluice_item_feed_meta tells number, time and gap. Each is taken once it is asked for; the feed's
/// ring and its policy stand between the source that cannot wait and the demand. Cancelled, it gives
/// the feed up as sluice_feed_abandon does. It runs once: another run fails with
/// SLUICE_ALREADY_SUBSCRIBED.
///
/// feed     stays yours; whoever reads it beside the source takes items away from it
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_source_feed(feed: *const Feed, out: *mut *mut Source) -> Status {
    guard(|| {
        border::need(out)?;
        let items = Core::feed(handle::get(feed)?.feed());
        let map = Flow::try_map(|item| element(feed::with_meta(item)));
        put_source(out, items.via(map.named("items")).map_mat(|_| Vec::new()))
    })
}

/// Emits the value of each element, which is a sluice_item (sluice_item_element), to a scalar output
/// as sluice_output_emit does, and closes it at the end; its sluice_completion holds no element. The
/// next element is asked for once the stream has taken the last: without credit the whole pipeline
/// waits (L9). A value that is no item fails the pipeline with SLUICE_INVALID_ARGUMENT.
///
/// A pipeline that fails leaves the stream open: whoever has the request fails it with what the
/// completion failed with. When the request ends, the pipeline is cancelled and its completion fails
/// with the reason. It runs once: another run fails with SLUICE_ALREADY_SUBSCRIBED.
///
/// output   stays yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_wire(output: *const Output, out: *mut *mut Sink) -> Status {
    guard(|| {
        border::need(out)?;
        let sink = CoreSink::wire(handle::get(output)?.stream());
        let values = Flow::try_map(|held: Held| Ok(item(&held)?.value)).named("items");
        let sink = values.to_mat(sink, |_, done| done);
        put_sink(out, &sink, |done| Mat::Done(Done::Unit(done)))
    })
}

/// The same for a sequence: each element is one item with its metadata, as sluice_output_emit_list_item
/// sends it.
///
/// output   stays yours
/// out      the blueprint, yours to release
/// returns  SLUICE_OK | SLUICE_INVALID_ARGUMENT | SLUICE_FORKED
/// threads  any number at once; does not wait
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sluice_sink_wire_items(
    output: *const Output,
    out: *mut *mut Sink,
) -> Status {
    guard(|| {
        border::need(out)?;
        let sink = CoreSink::wire_items(handle::get(output)?.stream());
        let items = Flow::try_map(|held: Held| item(&held)).named("items");
        let sink = items.to_mat(sink, |_, done| done);
        put_sink(out, &sink, |done| Mat::Done(Done::Unit(done)))
    })
}
