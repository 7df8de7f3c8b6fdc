//! What a pass wrote into a workspace in place of another text.

use std::fmt;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use shopfloor_core::hash::Digest;

/// A text that a pass wrote, and the one that was there before. In the manifest it is one string, because a log that is
/// synced all day has hundreds of them in each workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedText {
    pub time: Arc<str>,
    pub before: Digest,
    pub after: Digest,
}

impl Serialize for ArrivedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} {} {}", self.time, self.before, self.after))
    }
}

impl<'de> Deserialize<'de> for ArrivedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ArrivedText, D::Error> {
        deserializer.deserialize_any(SavedArrival)
    }
}

/// Reads both forms in which manifests have it. They had an object at first.
struct SavedArrival;

#[derive(Deserialize)]
struct ArrivalObject {
    time: String,
    before: Digest,
    after: Digest,
}

impl<'de> Visitor<'de> for SavedArrival {
    type Value = ArrivedText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time and two digests")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ArrivedText, E> {
        let mut parts = text.split(' ');
        let time = parts.next().unwrap_or_default().into();
        let mut digest =
            || parts.next().and_then(Digest::parse).ok_or_else(|| E::custom("an arrival is a time and two digests"));
        Ok(ArrivedText { time, before: digest()?, after: digest()? })
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<ArrivedText, M::Error> {
        let ArrivalObject { time, before, after } = ArrivalObject::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ArrivedText { time: time.into(), before, after })
    }
}
