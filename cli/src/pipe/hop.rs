//! One cartridge of a chain: started, its cap chosen, called.

use sluicegate::{Call, Engine, Error, ErrorKind, OutputStream, Peer};

use super::Stage;

/// One cartridge of the chain, called.
pub struct Hop {
    pub peer: Peer,
    pub call: Call,
    pub cap: String,
    /// What goes into it.
    pub input: OutputStream,
    pub idle: u64,
}

/// Starts every cartridge, then calls every cap.
pub fn start(engine: &Engine, stages: &[Stage]) -> Result<Vec<Hop>, Error> {
    let mut peers = Vec::new();
    for stage in stages {
        peers.push(engine.spawn(&stage.command)?);
    }
    stages
        .iter()
        .zip(peers)
        .map(|(stage, peer)| {
            let (cap, media) = choose(stage, &peer)?;
            let call = peer.call(&cap)?;
            let input = call.input(&media)?;
            let idle = peer.memory().map_or(0, |memory| memory.resident);
            Ok(Hop { peer, call, cap, input, idle })
        })
        .collect()
}

/// The cap that was named, or the cartridge's only one from bytes to bytes. Answers its argument's
/// media too.
fn choose(stage: &Stage, peer: &Peer) -> Result<(String, String), Error> {
    let bytes_to_bytes = |cap: &&sluicegate::CapInfo| {
        cap.in_media.is_some()
            && cap.out_media.is_some()
            && cap.urn != "cap:effect=none"
            && !cap.in_sequence
            && !cap.out_sequence
    };
    let caps: Vec<_> = peer.caps().iter().filter(bytes_to_bytes).collect();
    let name = peer.name();
    let choice = || match &caps[..] {
        [] => "it has none from bytes to bytes".to_owned(),
        caps => caps.iter().fold("its caps from bytes to bytes are".to_owned(), |list, cap| {
            list + "\n  @" + &cap.urn
        }),
    };
    let wrong = |message: String| Err(Error::new(ErrorKind::InvalidArgument, message));
    let cap = match (&stage.cap, &caps[..]) {
        (Some(wanted), _) => match caps.iter().find(|cap| &cap.urn == wanted) {
            Some(cap) => cap,
            None if peer.caps().iter().any(|cap| &cap.urn == wanted) => {
                return wrong(format!(
                    "cap {wanted} of cartridge `{name}` does not go from bytes to bytes, as a pipe \
                     needs it (`sluicegate call` takes any cap); {}",
                    choice()
                ));
            }
            None => {
                return wrong(format!("cartridge `{name}` has no cap {wanted}; {}", choice()));
            }
        },
        (None, [only]) => only,
        (None, []) => return wrong(format!("cartridge `{name}`: {}", choice())),
        (None, _) => {
            return wrong(format!(
                "cartridge `{name}` has several caps, name one with @CAP behind its command; {}",
                choice()
            ));
        }
    };
    Ok((cap.urn.clone(), cap.in_media.clone().unwrap_or_default()))
}
