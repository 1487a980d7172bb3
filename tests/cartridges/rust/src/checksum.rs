//! Caps that hash.

use sha2::{Digest, Sha256};
use sluicegate::{AttributionClass, Error, Request, Value};

pub const DIGEST: &str = "cap:fc-digest;in=media:blob;out=media:json";
pub const CHECKSUM: &str = "cap:checksum;in=media:blob;out=media:blob";

/// The bytes of a value as they count for a digest: a byte string or text as it is.
pub fn content(value: &Value) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Text(text) => text.as_bytes().to_vec(),
        other => other.encode(),
    }
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn digest(request: &Request) -> Result<(), Error> {
    let (mut hash, mut bytes, mut chunks) = (Sha256::new(), 0, 0_u64);
    for item in &request.blocking_input()? {
        let content = content(&item?.value);
        hash.update(&content);
        bytes += content.len();
        chunks += 1;
    }
    let answer =
        serde_json::json!({"bytes": bytes, "chunks": chunks, "sha256": hex(hash.finalize())});
    request.output().blocking_write(answer.to_string().as_bytes())
}

pub fn checksum(request: &Request) -> Result<(), Error> {
    let output = request.output();
    let mut hash = Sha256::new();
    for item in &request.blocking_input()? {
        if let Value::Bytes(bytes) = item?.value {
            hash.update(&bytes);
            output.blocking_write(&bytes)?;
        }
    }
    let digest = hex(hash.finalize());
    request.log("info", AttributionClass::Internal, &format!("sha256 {digest}"));
    Ok(())
}
