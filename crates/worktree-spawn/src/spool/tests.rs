//! Spools: numbers, claims, keys, files that are not events, and forwarding.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use shopfloor_core::fs;

use super::{Claim, Spool, publish};
use crate::event::SpoolEvent;
use crate::identity::Agent;

fn record(uid: &str) -> Map<String, Value> {
    let event = json!({ "v": 1, "id": 0, "uid": uid, "type": "x", "from": { "id": "a" } });
    event.as_object().cloned().unwrap()
}

fn spool(dir: &Path, uids: &[&str]) -> Spool {
    for uid in uids {
        publish(dir, "s", &[], record(uid), None).unwrap();
    }
    Spool::new(dir, "s")
}

fn first(spool: &Spool, now: Timestamp) -> Option<Claim> {
    spool.entries().unwrap().iter().find_map(|entry| spool.claim(entry, now).unwrap())
}

#[test]
fn a_number_is_not_given_twice_when_seq_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let spool = spool(dir.path(), &["a", "b"]);
    for _ in 0..2 {
        first(&spool, Timestamp::now()).unwrap().acknowledge().unwrap();
    }
    assert_eq!(spool.pending().unwrap(), 0);
    fs::remove(&spool.dir.join("seq")).unwrap();
    assert_eq!(publish(dir.path(), "s", &[], record("c"), None).unwrap().id, 3);
    fs::replace(&spool.dir.join("seq"), b"torn\0", None).unwrap();
    assert_eq!(publish(dir.path(), "s", &[], record("d"), None).unwrap().id, 4);
}

#[test]
fn a_claimed_event_belongs_to_one_process_until_it_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let spool = spool(dir.path(), &["a"]);
    let now = Timestamp::now();
    let claim = first(&spool, now).unwrap();
    assert!(first(&spool, now).is_none());
    claim.give_back().unwrap();
    let claim = first(&spool, now).unwrap();
    // Dropped without being given back, as by a kill.
    drop(claim);
    let claim = first(&spool, now).unwrap();
    let until = now + jiff::SignedDuration::from_secs(60);
    claim.lend(until).unwrap();
    assert!(first(&spool, now).is_none());
    assert_eq!(first(&spool, until).unwrap().event.uid(), "a");
    assert!(spool.acknowledge(&["a".into(), "b".into()]).unwrap() == ["b"]);
    assert!(first(&spool, until).is_none());
}

#[test]
fn a_key_is_used_once_even_if_its_note_was_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let send = |uid: &str| publish(dir.path(), "s", &[], record(uid), Some("k")).unwrap();
    let first = send("a");
    let spool = Spool::new(dir.path(), "s");
    fs::remove(&spool.key_file("k")).unwrap();
    fs::replace(&spool.dir.join("seq"), b"0\n", None).unwrap();
    let second = send("b");
    assert_eq!((second.uid.as_str(), second.is_repeated, first.id), ("a", true, second.id));
    assert_eq!(spool.pending().unwrap(), 1);
}

#[test]
fn malformed_files_are_set_aside_and_the_rest_arrives() {
    let dir = tempfile::tempdir().unwrap();
    let spool = spool(dir.path(), &["a"]);
    fs::replace(&spool.dir.join("new/00000000000000000009.json"), b"{\"v\":1,", None).unwrap();
    fs::replace(&spool.dir.join("new/notes.txt"), b"x", None).unwrap();
    publish(dir.path(), "s", &[], record("b"), None).unwrap();
    spool.sweep().unwrap();
    let uids: Vec<String> = std::iter::from_fn(|| {
        let claim = first(&spool, Timestamp::now())?;
        let uid = claim.event.uid().to_owned();
        claim.acknowledge().unwrap();
        Some(uid)
    })
    .collect();
    assert_eq!(uids, ["a", "b"]);
    assert_eq!(fs::list(&spool.dir.join("bad")).unwrap().len(), 2);
    // The number of the malformed event is not given again.
    assert_eq!(publish(dir.path(), "s", &[], record("c"), None).unwrap().id, 11);
}

#[test]
fn a_buried_session_forwards_old_and_new_events() {
    let dir = tempfile::tempdir().unwrap();
    let spool = spool(dir.path(), &["a"]);
    let agent = Agent::root("s", None, Timestamp::UNIX_EPOCH);
    spool.bury(dir.path(), "heir", Some(&agent)).unwrap();
    spool.bury(dir.path(), "heir", None).unwrap();
    assert_eq!(spool.buried().unwrap(), Some(agent));
    publish(dir.path(), "s", &[], record("b"), None).unwrap();
    let heir = Spool::new(dir.path(), "heir");
    let events: Vec<SpoolEvent> = heir.entries().unwrap().iter().filter_map(|e| heir.read(e).unwrap()).collect();
    assert_eq!(events.iter().map(SpoolEvent::uid).collect::<Vec<_>>(), ["a", "b"]);
    assert!(events.iter().all(|e| e.0["forwarded_from"] == "s"));
}
