//! Sources of a live feed: files, pipes and child processes.

mod watchdog;

use std::io::Write;
use std::time::{Duration, Instant};

use sluicegate::feed::{Feed, FeedItem, FeedOptions, Framing, OverrunPolicy, Pace};
use sluicegate::{Command, Error, ErrorKind};
use watchdog::{until, within};

const LIMIT: Duration = Duration::from_secs(180);

/// A ring that loses nothing, so that what comes is what was sent.
fn whole() -> FeedOptions {
    FeedOptions { capacity: 1 << 20, policy: OverrunPolicy::Fail, format: None }
}

fn shell(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

fn bytes(items: &[FeedItem]) -> Vec<&[u8]> {
    items.iter().map(|item| &item.value.as_bytes().expect("bytes")[..]).collect()
}

fn all(feed: &Feed) -> (Vec<FeedItem>, Option<Error>) {
    let (mut items, mut failure) = (Vec::new(), None);
    for item in feed.iter() {
        match item {
            Ok(item) => items.push(item),
            Err(error) => failure = Some(error),
        }
    }
    (items, failure)
}

/// Whether nothing of the process is left, or nothing but the entry that its parent has to reap.
fn has_ended(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")),
        Err(_) => true,
    }
}

/// Whether the process has ended and its parent has reaped it.
fn is_gone(pid: i32) -> bool {
    !std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// The number that a child wrote as a line.
fn pid_from(feed: &Feed) -> i32 {
    let item = feed.blocking_recv().expect("a line").expect("a line");
    let text = String::from_utf8(item.value.as_bytes().expect("bytes").to_vec()).expect("digits");
    text.trim().parse().expect("a process id")
}

#[test]
fn a_reader_of_lines_and_of_blocks() {
    within(LIMIT, "a reader", || {
        let feed = Feed::reader(whole(), &b"one\ntwo\n"[..], Framing::Lines(9), Pace::AsItComes);
        let (items, failure) = all(&feed.expect("a thread"));
        assert_eq!((bytes(&items), failure), (vec![&b"one"[..], b"two"], None));
        let feed = Feed::reader(whole(), &b"abcdef"[..], Framing::Fixed(3), Pace::AsItComes);
        let (items, failure) = all(&feed.expect("a thread"));
        assert_eq!((bytes(&items), failure), (vec![&b"abc"[..], b"def"], None));
        for framing in [Framing::Fixed(0), Framing::Lines(0)] {
            let refused = Feed::reader(whole(), &b""[..], framing, Pace::AsItComes);
            assert_eq!(refused.expect_err("no items").kind(), ErrorKind::InvalidArgument);
        }
    });
}

/// HZ-V04: bytes that stop in the middle of an item are no clean end.
#[test]
fn hz_v04_a_torn_item_is_an_error_behind_the_whole_ones() {
    within(LIMIT, "a torn item", || {
        let feed = Feed::reader(whole(), &b"abcde"[..], Framing::Fixed(3), Pace::AsItComes);
        let (items, failure) = all(&feed.expect("a thread"));
        assert_eq!(bytes(&items), [b"abc"]);
        let failure = failure.expect("two bytes are missing somewhere");
        assert_eq!(failure.kind(), ErrorKind::Malformed);
        assert!(failure.message().contains("2 of 3 bytes"), "{failure}");
    });
}

/// A file that is played as if it were live has even presentation times and takes its time.
#[test]
fn a_file_is_played_at_its_pace() {
    within(LIMIT, "a file", || {
        let begun = Instant::now();
        let pace = Pace::Every(Duration::from_millis(5));
        let feed = Feed::reader(whole(), &b"abcd"[..], Framing::Fixed(1), pace).expect("a thread");
        let (items, failure) = all(&feed);
        let times: Vec<_> = items.iter().map(|item| item.meta.pts_us).collect();
        assert_eq!((times, failure), (vec![0, 5_000, 10_000, 15_000], None));
        assert!(begun.elapsed() >= Duration::from_millis(15));
    });
}

/// A stop is prompt while the reader's thread waits in a read that nobody answers.
#[test]
fn a_stop_does_not_wait_for_a_silent_pipe() {
    within(LIMIT, "a stop", || {
        let (read, mut write) = std::io::pipe().expect("a pipe");
        let feed = Feed::reader(whole(), read, Framing::Lines(9), Pace::AsItComes);
        let feed = feed.expect("a thread");
        write.write_all(b"one\n").expect("the source reads");
        assert!(feed.blocking_recv().expect("a line").is_some());
        feed.stop();
        assert_eq!(feed.blocking_recv().expect("a clean end"), None);
        drop(write);
    });
}

#[test]
fn a_child_that_ends_well_ends_the_feed() {
    within(LIMIT, "a child", || {
        let command = shell("i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done");
        let feed = Feed::command(whole(), &command, Framing::Lines(9)).expect("a child");
        let (items, failure) = all(&feed);
        assert_eq!((items.len(), failure), (1000, None));
        assert!(items.windows(2).all(|pair| pair[0].meta.pts_us <= pair[1].meta.pts_us));
        assert!(items.windows(2).all(|pair| pair[0].meta.seq + 1 == pair[1].meta.seq));
    });
}

/// HZ-V04: a child that fails says why, behind what it captured.
#[test]
fn hz_v04_a_child_that_fails_says_why() {
    within(LIMIT, "a child", || {
        let command = shell("echo frame; echo 'no such device' >&2; exit 7");
        let feed = Feed::command(whole(), &command, Framing::Lines(9)).expect("a child");
        let (items, failure) = all(&feed);
        assert_eq!(bytes(&items), [b"frame"]);
        let failure = failure.expect("status 7 is a failure");
        assert_eq!(failure.kind(), ErrorKind::PeerDied);
        for part in ["sh -c", "7", "no such device"] {
            assert!(failure.message().contains(part), "{failure}");
        }
        let missing = Feed::command(whole(), &Command::new("/no/such/camera"), Framing::Lines(9));
        let missing = missing.expect_err("it is not there");
        assert_eq!(missing.kind(), ErrorKind::Spawn);
        assert!(missing.message().starts_with("source `/no/such/camera`"), "{missing}");
    });
}

/// No orphan and no zombie: a stop kills the child and what it started, at once, though neither
/// writes any more, and though the grandchild holds the pipe.
#[test]
fn a_stop_kills_the_child_and_its_own() {
    within(LIMIT, "a stop", || {
        for dropped in [false, true] {
            let command = shell("sleep 1000 & echo $$; echo $!; wait");
            let feed = Feed::command(whole(), &command, Framing::Lines(9)).expect("a child");
            let (child, grandchild) = (pid_from(&feed), pid_from(&feed));
            assert!(!has_ended(child) && !has_ended(grandchild));
            if dropped {
                drop(feed);
            } else {
                feed.stop();
                assert_eq!(feed.blocking_recv().expect("a clean end"), None);
            }
            until("the child is gone and reaped", || is_gone(child) && has_ended(grandchild));
        }
    });
}

/// What a child leaves running when it exits goes with it.
#[test]
fn an_exit_leaves_nobody_behind() {
    within(LIMIT, "a child", || {
        let command = shell("sleep 1000 >/dev/null & echo $!; exit 0");
        let feed = Feed::command(whole(), &command, Framing::Lines(9)).expect("a child");
        let grandchild = pid_from(&feed);
        assert_eq!(feed.blocking_recv().expect("a clean end"), None);
        until("the grandchild is gone", || has_ended(grandchild));
    });
}

/// A child is never held up: it writes as fast as it can into a small ring that nobody reads.
#[test]
fn a_child_is_never_held_up() {
    within(LIMIT, "a child", || {
        let ring = FeedOptions { capacity: 3, ..FeedOptions::default() };
        let command = shell("head -c 3000000 /dev/zero");
        let feed = Feed::command(ring, &command, Framing::Fixed(1000)).expect("a child");
        until("the feed ends by itself", || feed.stats().ended);
        let stats = feed.stats();
        assert_eq!((stats.captured, stats.held, stats.dropped), (3000, 3, 2997));
        let (items, failure) = all(&feed);
        assert_eq!((items.len(), failure), (3, None));
        assert_eq!(items[0].meta.gap.expect("a loss").dropped, 2997);
    });
}

/// A camera through ffmpeg: its test picture, raw, one frame an item.
#[test]
fn frames_of_ffmpegs_test_source() {
    const FRAME: usize = 64 * 48 * 3;
    within(LIMIT, "ffmpeg", || {
        let input = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2"];
        let output = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"];
        let command = Command::new("ffmpeg")
            .args(["-hide_banner", "-loglevel", "error", "-nostdin"])
            .args(input)
            .args(output);
        let feed = Feed::command(whole(), &command, Framing::Fixed(FRAME)).expect("ffmpeg");
        let (items, failure) = all(&feed);
        assert_eq!((items.len(), failure), (50, None));
        assert_ne!(items[0].value, items[30].value, "the picture moves");
    });
}
