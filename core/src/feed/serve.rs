//! Ring to stream: the only stage of a feed that waits for credit.

use std::future::{Future, poll_fn};
use std::pin::pin;

use super::Feed;
use super::ring::Core;
use crate::error::{Error, ErrorKind};
use crate::stream::LiveSource;
use crate::stream::{Mode, OutputStream, StartOptions};
use crate::sync::Arc;
use crate::wait::{Either, first};

/// See [`Feed::serve`].
pub(super) fn serve(
    feed: Feed,
    output: OutputStream,
) -> impl Future<Output = Result<(), Error>> + Send + use<> {
    let owed = output.owed();
    owed.before_wait(async move {
        let serving = Serving::begin(&feed)?;
        serving.0.core().count_in(output.counters());
        let core: Arc<dyn LiveSource> = Arc::<Core>::clone(serving.0.core());
        output.delivers(Arc::downgrade(&core));
        open(&feed, &output)?;
        // A CLOSE_STREAM stops the capture at once, also while an item waits for credit.
        let mut delivering = pin!(deliver(&feed, &output));
        let mut unwanted = pin!(output.unwanted());
        let mut asked = false;
        poll_fn(|context| {
            if !asked && unwanted.as_mut().poll(context).is_ready() {
                asked = true;
                feed.stop();
            }
            delivering.as_mut().poll(context)
        })
        .await
    })
}

/// Opens the stream unless that was done: a live stream makes no promise to end (L16).
fn open(feed: &Feed, output: &OutputStream) -> Result<(), Error> {
    let meta = feed.core().format.clone();
    match output.start(StartOptions { mode: Mode::Sequence, unbounded: true, meta }) {
        Err(error) if error.kind() == ErrorKind::InvalidArgument => Ok(()), // it is open
        started => started,
    }
}

async fn deliver(feed: &Feed, output: &OutputStream) -> Result<(), Error> {
    loop {
        // The end of the stream before an item, which could not be sent.
        let item = std::sync::Arc::clone(feed.core()).next();
        match first(item, output.ended()).await {
            Either::Left(next) => match next? {
                Some(item) => {
                    output.emit_list_item(item.value, Some(item.meta.to_value())).await?;
                }
                None => return Ok(()),
            },
            Either::Right(reason) => return Err(reason), // L13, also while the source is silent
        }
    }
}

/// The feed has a consumer until this is dropped.
struct Serving<'a>(&'a Feed);

impl<'a> Serving<'a> {
    fn begin(feed: &'a Feed) -> Result<Self, Error> {
        feed.core().begin_serving()?;
        Ok(Serving(feed))
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.0.core().end_serving();
    }
}
