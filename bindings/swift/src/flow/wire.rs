//! Pipelines across a link: a stream of a request, or a live feed, as a source, and a stream of a
//! request as a sink.

use std::sync::Arc;

use bytes::Bytes;
use sluicegate::feed::FeedItem;
use sluicegate::flow::{Flow as CoreFlow, Sink, Source};
use sluicegate::{Error, ErrorKind, Item, Value};

use super::blueprint::{SinkCore, SourceCore, plain};
use super::element::{Element, Reply, rows};
use super::mats::Mat;
use crate::error::Fault;
use crate::feed::FeedCore;
use crate::input::{InputCore, Lent};
use crate::output::{OutputCore, malformed};

/// Makes elements of items.
#[uniffi::export(with_foreign)]
pub trait Receiving: Send + Sync {
    /// The element that an item becomes. Payload and metadata are lent for the length of the call,
    /// laid out as the items of an operation are.
    fn receive(
        &self,
        kind: u8,
        address: u64,
        count: u64,
        meta_address: u64,
        meta_count: u64,
    ) -> Reply;
}

/// What an element is on the wire.
#[derive(Debug, uniffi::Enum)]
pub enum Outgoing {
    /// An item.
    Item {
        /// Its value, CBOR.
        value: Vec<u8>,
        /// Its metadata, CBOR.
        meta: Option<Vec<u8>>,
    },
    /// It threw.
    Thrown {
        /// What.
        fault: Fault,
    },
}

/// Makes items of elements.
#[uniffi::export(with_foreign)]
pub trait Sending: Send + Sync {
    /// The item that an element becomes. The token is lent for the length of the call.
    fn send(&self, token: u64) -> Outgoing;
}

fn receiving(receiver: Arc<dyn Receiving>) -> CoreFlow<Item, Element> {
    let element = CoreFlow::try_map(move |item: Item| {
        let lent = Lent::from(item);
        let reply = lent.lend(|kind, (address, count), (meta_address, meta_count)| {
            receiver.receive(kind, address, count, meta_address, meta_count)
        });
        let none = || Error::new(ErrorKind::StageFailed, "the item became no element");
        rows(reply)?.pop().ok_or_else(none)
    });
    element.named("item")
}

fn item(outgoing: Outgoing) -> Result<Item, Error> {
    match outgoing {
        Outgoing::Thrown { fault } => Err(fault.into()),
        Outgoing::Item { value, meta } => {
            let value = Value::decode_shared(&Bytes::from(value)).map_err(malformed)?;
            let meta = meta.as_deref().map(Value::decode).transpose().map_err(malformed)?;
            Ok(Item { value, meta })
        }
    }
}

/// The items of an input stream. Runs once.
#[uniffi::export]
pub fn source_wire(input: &InputCore, receiver: Arc<dyn Receiving>) -> Arc<SourceCore> {
    plain(Source::wire(input.0.clone()).via(receiving(receiver)))
}

/// The items of a live feed. Runs once.
#[uniffi::export]
pub fn source_feed(feed: &FeedCore, receiver: Arc<dyn Receiving>) -> Arc<SourceCore> {
    let with_meta = CoreFlow::map(|captured: FeedItem| Item {
        meta: Some(captured.meta.to_value()),
        value: captured.value,
    });
    plain(Source::feed(feed.feed()).via(with_meta.named("meta")).via(receiving(receiver)))
}

/// Everything into an output stream, as values or as items. Runs once.
#[uniffi::export]
pub fn sink_wire(output: &OutputCore, sequence: bool, sender: Arc<dyn Sending>) -> Arc<SinkCore> {
    let items = CoreFlow::try_map(move |element: Element| item(sender.send(element.token())));
    let items = items.named("item");
    let output = output.0.clone();
    let sink = if sequence {
        items.to(Sink::wire_items(output))
    } else {
        let values = CoreFlow::map(|item: Item| item.value).named("value");
        items.via(values).to(Sink::wire(output))
    };
    Arc::new(SinkCore(sink.map_mat(|done| vec![Mat::Done(done)])))
}
