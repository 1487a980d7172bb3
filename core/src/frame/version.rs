//! The versions of the protocol: what each has that another lacks, in one place.

use std::fmt;

use super::Frame;
use super::kind::{AttributionClass, CreditDirection, FrameType};
use crate::error::{Error, ErrorKind};

/// A version that this library speaks. A link speaks one, from its HELLO to its end.
///
/// | | early 4 | 4 | 5 | 6 |
/// |---|---|---|---|---|
/// | pools in a cartridge's HELLO ([`has_pools`](Self::has_pools)) | no | yes | yes | yes |
/// | CLOSE_STREAM ([`has_close_stream`](Self::has_close_stream)) | no | yes | yes | yes |
/// | class `user`, a reason in CANCEL ([`has_user_class`](Self::has_user_class)) | no | yes | yes | yes |
/// | outputs beside the main one ([`names_outputs`](Self::names_outputs)) | no | no | yes | yes |
/// | a grant for a response names its stream ([`names_response_grants`](Self::names_response_grants)) | no | no | yes | yes |
/// | POLICY, needed before requests ([`has_policy`](Self::has_policy)) | no | no | no | yes |
///
/// Windows, grants, checksums and terminals are the same in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 4 as its first peers speak it. On the wire it is 4: only a cartridge's HELLO, which has
    /// `handler_capacity` in place of `pools`, tells it from the later form.
    V4Early,
    /// 4 as its last peers speak it.
    V4,
    /// 5.
    V5,
    /// 6, what a host proposes unless it is told otherwise.
    #[default]
    V6,
}

impl Version {
    /// All that are spoken, the oldest first.
    pub const ALL: [Self; 4] = [Self::V4Early, Self::V4, Self::V5, Self::V6];

    /// The number that HELLO declares, and that key 0 of every frame holds.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::V4Early | Self::V4 => 4,
            Self::V5 => 5,
            Self::V6 => 6,
        }
    }

    /// What a peer that declares `number` speaks at least: of 4 the early form, since its number does not
    /// tell more. `None` if it is not spoken here.
    #[must_use]
    pub fn declared(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }

    /// The version of this number for a host to propose.
    ///
    /// # Errors
    /// `InvalidArgument` for a number that is not spoken here.
    pub fn proposed(number: u64) -> Result<Self, Error> {
        Self::declared(number).map(Self::late).ok_or_else(|| {
            let message = format!("version {number} of the protocol is not spoken: 4, 5 or 6");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }

    /// What a peer of this number speaks that has shown that it is of the later form.
    pub(crate) const fn late(self) -> Self {
        match self {
            Self::V4Early => Self::V4,
            other => other,
        }
    }

    /// A cartridge's HELLO tells its pools. Otherwise it tells its `handler_capacity`.
    #[must_use]
    pub const fn has_pools(self) -> bool {
        !matches!(self, Self::V4Early)
    }

    /// There is a CLOSE_STREAM.
    #[must_use]
    pub const fn has_close_stream(self) -> bool {
        !matches!(self, Self::V4Early)
    }

    /// There is a class `user`, and a CANCEL may say why.
    #[must_use]
    pub const fn has_user_class(self) -> bool {
        !matches!(self, Self::V4Early)
    }

    /// A response may have outputs beside the main one, named by key 21. Otherwise it has that alone, and
    /// key 21 is a key like any other that means nothing.
    #[must_use]
    pub const fn names_outputs(self) -> bool {
        matches!(self, Self::V5 | Self::V6)
    }

    /// A grant for a response names its stream. Otherwise it goes to the response's only one.
    #[must_use]
    pub const fn names_response_grants(self) -> bool {
        matches!(self, Self::V5 | Self::V6)
    }

    /// There is a POLICY, and a cartridge needs one before its first request.
    #[must_use]
    pub const fn has_policy(self) -> bool {
        matches!(self, Self::V6)
    }

    /// Whether frames of this type may be sent to who speaks this version, who would take one of a type
    /// that it does not know for the end of the link.
    #[must_use]
    pub const fn has(self, frame_type: FrameType) -> bool {
        match frame_type {
            FrameType::CloseStream => self.has_close_stream(),
            FrameType::Policy => self.has_policy(),
            _ => true,
        }
    }

    /// Whether frames of this type may come from who declares `number`: any of the forms of that number
    /// has them. A number that is not spoken is not judged.
    pub(crate) fn may_have(number: u64, frame_type: FrameType) -> bool {
        let mut forms =
            Self::ALL.into_iter().filter(|version| version.number() == number).peekable();
        forms.peek().is_none() || forms.any(|version| version.has(frame_type))
    }

    /// Makes a frame one of this version: stamps it, and takes out what the version lacks. False if
    /// nothing is left of it to send.
    pub(crate) fn fit(self, frame: &mut Frame) -> bool {
        frame.version = self.number();
        let is_user = || frame.attribution_class() == Some(AttributionClass::User);
        match frame.frame_type {
            FrameType::Credit if !self.names_response_grants() && grants_response(frame) => {
                frame.stream_id = None;
            }
            FrameType::StreamStart if !self.names_outputs() => frame.output = None,
            FrameType::Cancel if !self.has_user_class() => frame.meta = None,
            FrameType::Err | FrameType::Log if !self.has_user_class() && is_user() => {
                frame.set_meta("attribution_class", AttributionClass::Internal.as_str());
            }
            kind => return self.has(kind),
        }
        true
    }
}

fn grants_response(frame: &Frame) -> bool {
    matches!(frame.credit_direction(), Some(CreditDirection::Response))
}

impl fmt::Display for Version {
    /// The number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.number(), f)
    }
}

/// The protocol versions that a reader takes in key 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    min: u64,
    max: u64,
}

impl Versions {
    /// Only [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
    pub const CURRENT: Self = Self::only(Version::V6.number());

    /// Any. What a connection speaks is then decided by its handshake alone.
    pub const ANY: Self = Self::between(0, u64::MAX);

    /// Exactly `version`.
    #[must_use]
    pub const fn only(version: u64) -> Self {
        Self::between(version, version)
    }

    /// From `min` to `max`, both included. None at all when `min` is larger.
    #[must_use]
    pub const fn between(min: u64, max: u64) -> Self {
        Self { min, max }
    }

    /// All that this library speaks.
    pub const SPOKEN: Self = {
        let [oldest, .., newest] = Version::ALL;
        Self::between(oldest.number(), newest.number())
    };

    /// Whether `version` is one of them.
    #[must_use]
    pub const fn contains(self, version: u64) -> bool {
        self.min <= version && version <= self.max
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANY => f.write_str("any"),
            Self { min, max } if min == max => write!(f, "{min}"),
            Self { min, max } => write!(f, "{min} to {max}"),
        }
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::CURRENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{MessageId, NetworkPolicy};

    const ID: MessageId = MessageId::Uint(7);

    fn fitted(version: Version, mut frame: Frame) -> Option<Frame> {
        version.fit(&mut frame).then_some(frame)
    }

    #[test]
    fn a_number_declares_the_least_of_its_forms() {
        for (number, version) in
            [(4, Some(Version::V4Early)), (5, Some(Version::V5)), (6, Some(Version::V6))]
        {
            assert_eq!(Version::declared(number), version);
        }
        assert_eq!((Version::declared(3), Version::declared(7)), (None, None));
        assert_eq!(Version::V4Early.late(), Version::V4);
    }

    #[test]
    fn what_a_version_lacks_is_not_sent() {
        let sent = |frame: &Frame| Version::ALL.map(|version| fitted(version, frame.clone()));
        let is_sent = |frame: Frame| sent(&frame).map(|frame| frame.is_some());
        assert_eq!(is_sent(Frame::policy(NetworkPolicy::Full)), [false, false, false, true]);
        assert_eq!(is_sent(Frame::close_stream(ID, None, None)), [false, true, true, true]);
        assert_eq!(is_sent(Frame::heartbeat(ID)), [true; 4]);

        let of = |frame: Frame, look: fn(&Frame) -> bool| {
            sent(&frame).map(|frame| look(&frame.expect("it is sent")))
        };
        let start = Frame::stream_start(ID, None, "s", "media:").with_output("media:other");
        assert_eq!(of(start, |frame| frame.output.is_some()), [false, false, true, true]);
        let grant = |direction| Frame::credit(ID, None, Some("s"), 3, direction);
        let named = |frame: &Frame| frame.stream_id.is_some();
        assert_eq!(of(grant(CreditDirection::Response), named), [false, false, true, true]);
        assert_eq!(of(grant(CreditDirection::Request), named), [true; 4]);
        let user = AttributionClass::User;
        let is_user = |frame: &Frame| frame.attribution_class() == Some(AttributionClass::User);
        let err = Frame::err(ID, None, "CANCELLED", user, "no");
        assert_eq!(of(err, is_user), [false, true, true, true]);
        assert_eq!(
            of(Frame::log(ID, None, "info", user, "no"), is_user),
            [false, true, true, true]
        );
        let cancel = Frame::cancel(ID, None, false).with_reason("CANCELLED", user, "no");
        assert_eq!(of(cancel, |frame| frame.meta.is_some()), [false, true, true, true]);
    }

    #[test]
    fn a_frame_is_stamped_with_its_version() {
        for version in Version::ALL {
            let frame = fitted(version, Frame::heartbeat(ID)).expect("all have it");
            assert_eq!(frame.version, version.number());
        }
    }
}
