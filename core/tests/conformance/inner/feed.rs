//! A live feed's ring, with the numbers and times of its items.

use std::collections::VecDeque;

use serde_json::{Value, json};
use sluicegate::model::feed::{CaptureAnswer, Delivery, Feed, FeedEnd, FeedPhase, OverrunPolicy};

use super::flows::{number, yes};
use super::stages::opened;
use super::{Did, Machine, Opened, unknown};
use crate::script::{Failure, Object};

struct Ring {
    feed: Feed,
    /// Number and presentation time of each item, oldest first.
    items: VecDeque<(u64, u64)>,
}

pub fn feed(mut open: Object) -> Result<Opened, Failure> {
    let size = open.number("size")?;
    let policy = match open.text("policy")?.as_str() {
        "drop_oldest" => OverrunPolicy::DropOldest,
        "fail" => OverrunPolicy::Fail,
        other => return Err(Failure::new(format!("unknown policy {other:?}"))),
    };
    open.done()?;
    Ok(opened(Feed::opened(size, policy).map(|feed| Ring { feed, items: VecDeque::new() })))
}

fn name(why: FeedEnd) -> &'static str {
    match why {
        FeedEnd::Finished => "finished",
        FeedEnd::Overrun => "overrun",
        FeedEnd::Broken => "broken",
        FeedEnd::Abandoned => "abandoned",
    }
}

impl Ring {
    fn capture(&mut self, pts: u64) -> Value {
        let (after, answer) = self.feed.capture();
        self.feed = after;
        match answer {
            CaptureAnswer::Stored(n) => {
                self.items.push_back((n, pts));
                json!({"stored": number(n)})
            }
            CaptureAnswer::Evicted(n) => {
                self.items.pop_front();
                self.items.push_back((n, pts));
                json!({"evicted": number(n)})
            }
            CaptureAnswer::Overflowed(n) => json!({"overflowed": number(n)}),
            CaptureAnswer::Refused => json!("refused"),
        }
    }

    fn deliver(&mut self) -> Value {
        let (item, pts) = self.items.front().copied().unwrap_or((0, 0));
        let (after, answer) = self.feed.deliver(pts);
        self.feed = after;
        match answer {
            Delivery::Item(gap) => {
                self.items.pop_front();
                let gap = gap.map(
                    |gap| json!({"lost": number(gap.lost), "duration_us": number(gap.duration_us)}),
                );
                json!({"item": number(item), "gap": gap})
            }
            Delivery::Empty => json!("empty"),
            Delivery::Over(why, missing) => json!({"over": name(why), "missing": number(missing)}),
        }
    }
}

impl Machine for Ring {
    fn step(&mut self, op: &str, step: &mut Object) -> Result<Did, Failure> {
        let answer = match op {
            "capture" => self.capture(step.number("pts")?),
            "deliver" => self.deliver(),
            "end" => {
                let why = match step.text("why")?.as_str() {
                    "finished" => FeedEnd::Finished,
                    "broken" => FeedEnd::Broken,
                    other => return Err(Failure::new(format!("unknown end {other:?}"))),
                };
                let (after, first) = self.feed.end_capture(why);
                self.feed = after;
                yes(first)
            }
            "abandon" => {
                let (after, released) = self.feed.abandon();
                self.feed = after;
                self.items.clear();
                number(released)
            }
            other => return Err(unknown(other)),
        };
        let feed = self.feed;
        let ending = match feed.phase {
            FeedPhase::Capturing => None,
            FeedPhase::Ending(why) => Some(name(why)),
        };
        let ring: Vec<Value> = self.items.iter().map(|(item, _)| number(*item)).collect();
        let state = json!({"ending": ending, "held": number(feed.held),
            "captured": number(feed.captured), "delivered": number(feed.delivered),
            "dropped": number(feed.dropped), "overruns": number(feed.overruns),
            "before": number(feed.before), "behind": number(feed.behind), "ring": ring});
        Ok((answer, Some(state)))
    }
}
