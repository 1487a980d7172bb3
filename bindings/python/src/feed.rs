//! Live feeds: a source that cannot be held up, in front of a consumer that may be slow.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use sluicegate::feed::{
    Feed as CoreFeed, FeedItem, FeedOptions, FeedSender, Framing, OverrunPolicy, Pace,
};
use sluicegate::{Command, Error, ErrorKind, Item as CoreItem};

use crate::fork::Owned;
use crate::number::Count;
use crate::op::Op;
use crate::stream::{Item, OutputStream};
use crate::unread::{self, Unread};
use crate::{errors, transport, value};

/// The longest item of a source of lines, in bytes.
const LONGEST_LINE: usize = 1024 * 1024;

/// The core of `sluicegate.Feed`: both ends of it. One that captures by itself has no capture side.
#[pyclass(frozen, module = "sluicegate._core")]
pub(crate) struct Feed(Owned<Ends>);

struct Ends {
    feed: CoreFeed,
    capture: Option<FeedSender>,
    unread: Arc<Unread>,
}

/// captured, delivered, dropped, overruns, held, capacity, ended.
type Stats = (u64, u64, u64, u64, u64, u64, bool);

fn options(capacity: Count, fail: bool, meta: Option<&Bound<'_, PyAny>>) -> PyResult<FeedOptions> {
    let policy = if fail { OverrunPolicy::Fail } else { OverrunPolicy::DropOldest };
    Ok(FeedOptions { capacity: capacity.0, policy, format: value::meta_from(meta)? })
}

fn framing(item_bytes: Option<usize>) -> Framing {
    item_bytes.map_or(Framing::Lines(LONGEST_LINE), Framing::Fixed)
}

impl Feed {
    fn new(feed: CoreFeed, capture: Option<FeedSender>) -> Self {
        Feed(Owned::new(Ends { feed, capture, unread: Arc::default() }))
    }

    fn by_itself(feed: Result<CoreFeed, Error>) -> PyResult<Self> {
        feed.map(|feed| Feed::new(feed, None)).map_err(|error| errors::raise(&error))
    }

    pub(crate) fn core(&self) -> PyResult<&CoreFeed> {
        Ok(&self.0.get()?.feed)
    }

    fn capture(&self) -> PyResult<&FeedSender> {
        self.0.get()?.capture.as_ref().ok_or_else(|| {
            let message = "this feed captures by itself: nothing is pushed into it";
            errors::raise(&Error::new(ErrorKind::InvalidArgument, message))
        })
    }
}

pub(crate) fn with_meta(item: FeedItem) -> CoreItem {
    CoreItem { value: item.value, meta: Some(item.meta.to_value()) }
}

#[pymethods]
impl Feed {
    /// A feed that is pushed into.
    #[staticmethod]
    #[pyo3(signature = (capacity, fail, meta, /))]
    fn open(capacity: Count, fail: bool, meta: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (feed, capture) = CoreFeed::open(options(capacity, fail, meta)?)
            .map_err(|error| errors::raise(&error))?;
        Ok(Feed::new(feed, Some(capture)))
    }

    /// A feed of what a command writes to its stdout: items of so many bytes, or lines.
    #[staticmethod]
    #[pyo3(signature = (words, item_bytes, capacity, fail, meta, /))]
    fn command(
        words: Vec<std::ffi::OsString>,
        item_bytes: Option<usize>,
        capacity: Count,
        fail: bool,
        meta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut words = words.into_iter();
        let command = Command::new(words.next().unwrap_or_default()).args(words);
        let options = options(capacity, fail, meta)?;
        Feed::by_itself(CoreFeed::command(options, &command, framing(item_bytes)))
    }

    /// A feed of what a descriptor gives, which is duplicated; with an interval in microseconds, as if
    /// it were live.
    #[staticmethod]
    #[pyo3(signature = (fd, item_bytes, interval_us, capacity, fail, meta, /))]
    fn reader(
        fd: i32,
        item_bytes: Option<usize>,
        interval_us: Option<u64>,
        capacity: Count,
        fail: bool,
        meta: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let pace = interval_us
            .map_or(Pace::AsItComes, |interval| Pace::Every(Duration::from_micros(interval)));
        let options = options(capacity, fail, meta)?;
        let file = transport::duplicate(fd)?;
        Feed::by_itself(CoreFeed::reader(options, file, framing(item_bytes), pace))
    }

    /// An item was captured; True while there is a point in capturing on. Never waits.
    #[pyo3(signature = (item, pts_us, capture_ts_us, /))]
    fn push(
        &self,
        item: &Bound<'_, PyAny>,
        pts_us: Count,
        capture_ts_us: Option<Count>,
    ) -> PyResult<bool> {
        let capture = self.capture()?;
        let item = value::from_python(item)?;
        let captured = match capture_ts_us {
            None => capture.push(item, pts_us.0),
            Some(at) => capture.push_at(item, pts_us.0, at.0),
        };
        Ok(captured.goes_on())
    }

    /// The device failed.
    #[pyo3(signature = (error, /))]
    fn fail(&self, error: &Bound<'_, PyAny>) -> PyResult<()> {
        self.capture()?.fail(errors::reason(error)?);
        Ok(())
    }

    /// Stops the capture; what is held is still delivered.
    fn stop(&self) -> PyResult<()> {
        self.0.get()?.feed.stop();
        Ok(())
    }

    /// Gives the feed up: what is held is dropped.
    fn abandon(&self) -> PyResult<()> {
        self.0.get()?.feed.abandon();
        Ok(())
    }

    /// The next item; answers None at the clean end.
    fn recv(&self) -> PyResult<Op> {
        let Ends { feed, unread, .. } = self.0.get()?;
        let next = feed.recv();
        let new = async move { Ok(next.await?.map(with_meta)) };
        let back = Arc::clone(unread);
        Ok(Op::with_undo(
            unread::first(new, unread),
            |py, item| item.map_or_else(|| Ok(py.None()), |item| Item::object(py, item)),
            move |item| {
                if let Some(item) = item {
                    back.put_back(item);
                }
            },
        ))
    }

    /// Delivers the feed to an output stream until it ends.
    #[pyo3(signature = (output, /))]
    fn serve(&self, output: &OutputStream) -> PyResult<Op> {
        let Ends { feed, unread, .. } = self.0.get()?;
        let (unread, to) = (Arc::clone(unread), output.core()?.clone());
        let serve = feed.serve(&to);
        let future = async move {
            while let Some(item) = unread.take() {
                to.emit_list_item(item.value, item.meta).await?;
            }
            serve.await
        };
        Ok(Op::new(future, |py, ()| Ok(py.None())))
    }

    #[getter]
    fn stats(&self) -> PyResult<Stats> {
        let stats = self.0.get()?.feed.stats();
        Ok((
            stats.captured,
            stats.delivered,
            stats.dropped,
            stats.overruns,
            stats.held,
            stats.capacity,
            stats.ended,
        ))
    }
}
