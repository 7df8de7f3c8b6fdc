//! Old views, in all types of files.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn stale(kind: FileType, base: &str, here: &str, arrivals: &[(&str, &str)]) -> (String, Vec<String>) {
    let arrivals: Vec<Arrival> =
        arrivals.iter().map(|(before, after)| (before.as_bytes().to_vec(), after.as_bytes().to_vec())).collect();
    match freshness(kind, base.as_bytes(), here.as_bytes(), &arrivals, true) {
        Freshness::Fresh => (here.to_owned(), Vec::new()),
        Freshness::Stale(text, places) => {
            (String::from_utf8(text).unwrap(), places.iter().map(ToString::to_string).collect())
        }
        Freshness::Cannot => panic!("it can"),
    }
}

#[test]
fn json_entries_are_put_back_and_own_edits_stay() {
    let (before, after) = (r#"{"a":1,"env":{"A":"1"}}"#, r#"{"a":2,"env":{"A":"1","B":"2"},"list":["x"]}"#);
    let json = |here| stale(FileType::Json, after, here, &[(before, after)]);
    let (text, places) = json(r#"{"a":1,"env":{"A":"1"},"own":true}"#);
    assert_eq!(places, ["reverts a", "lacks env.B", "lacks list[0]"]);
    assert!(is_same(&text, r#"{"a":2,"env":{"A":"1","B":"2"},"own":true,"list":["x"]}"#), "{text}");
    // The old text itself.
    assert_eq!(json(before).0, after);
    // What did not arrive may go, and a value of its own is an edit.
    assert_eq!(json(r#"{"a":3,"env":{"B":"2"},"list":["x"]}"#).1, Vec::<String>::new());
    // Of an object that is gone only what arrived comes back.
    let (text, places) = json(r#"{"a":2,"list":["x"]}"#);
    assert!(
        is_same(&text, r#"{"a":2,"list":["x"],"env":{"B":"2"}}"#) && places == ["lacks env.B"],
        "{text} {places:?}"
    );
}

fn is_same(a: &str, b: &str) -> bool {
    FileType::Json.has_same_content(a.as_bytes(), b.as_bytes())
}

#[test]
fn elements_and_entries_that_were_taken_away_stay_away() {
    let (before, after) = (r#"{"list":["a","b"],"old":{"x":1}}"#, r#"{"list":["a","c"]}"#);
    let (text, places) =
        stale(FileType::Json, after, r#"{"list":["a","b","own"],"old":{"x":1,"y":2}}"#, &[(before, after)]);
    assert_eq!(places, ["lacks list[1]", "brings back list[1]", "brings back old.x"]);
    assert!(is_same(&text, r#"{"list":["a","c","own"],"old":{"y":2}}"#), "{text}");
}

#[test]
fn arrays_of_all_kinds_keep_what_arrived() {
    for (before, after, here, wanted) in [
        ("[1,1]", "[1,1,2]", "[1,1,3]", "[1,1,2,3]"),
        (r#"["a"]"#, r#"["a","b"]"#, r#"["a","own","own"]"#, r#"["a","b","own","own"]"#),
        (r#"{"l":["a"],"z":1}"#, r#"{"l":["a","b"],"z":1}"#, r#"{"z":1,"own":2}"#, r#"{"z":1,"own":2,"l":["b"]}"#),
        (r#"{"l":["a"],"z":1}"#, r#"{"z":1}"#, r#"{"l":["a","own"],"z":1}"#, r#"{"l":["own"],"z":1}"#),
        ("", r#"{"b":1}"#, r#"{"own":1}"#, r#"{"own":1,"b":1}"#),
        ("[1,2,3]", "[3,1,2]", "[1,2,3]", "[3,1,2]"),
        (r#"["A=1"]"#, r#"["A=2"]"#, r#"["A=1","OWN=1"]"#, r#"["A=2","OWN=1"]"#),
        // A record that is lacking comes back as a whole.
        (
            r#"[{"id":1,"s":1},{"id":2}]"#,
            r#"[{"id":1,"s":2},{"id":2}]"#,
            r#"[{"id":2}]"#,
            r#"[{"id":1,"s":2},{"id":2}]"#,
        ),
    ] {
        let (text, places) = stale(FileType::Json, after, here, &[(before, after)]);
        assert!(is_same(&text, wanted) && !places.is_empty(), "{text}, not {wanted}");
    }
    // One that was taken away stays with an edit, and one that arrived can be edited.
    let (one, two) = (r#"[{"id":1,"s":1},{"id":2}]"#, r#"[{"id":2}]"#);
    let edited = r#"[{"id":1,"s":1,"n":3},{"id":2}]"#;
    for (before, after) in [(one, two), (two, one)] {
        assert_eq!(stale(FileType::Json, after, edited, &[(before, after)]), (edited.to_owned(), Vec::new()));
    }
    // Without anything to put back, nothing is put in order.
    assert_eq!(stale(FileType::Json, "[1,2]", "[2,1,3]", &[("[1]", "[1,2]")]).1, Vec::<String>::new());
}

#[test]
fn yaml_entries_are_put_back_as_the_base_has_them() {
    let (before, after) = ("a: 1\ne:\n  y: 2\n", "a: 1\n# new\ne:\n  x: 'no' # why\n  y: 2\n");
    // Of a mapping that is gone only what arrived comes back.
    let (text, places) = stale(FileType::Yaml, after, "a: 1\nb: 2 # own\n", &[(before, after)]);
    assert_eq!(places, ["lacks e.x"]);
    assert_eq!(text, "a: 1\nb: 2 # own\n# new\ne:\n  x: 'no' # why\n");
}

#[test]
fn the_old_text_itself_is_no_edit_whatever_differs() {
    for (kind, before, after) in [
        (FileType::Text, "1\n2\n3\n", "3\n1\n2\n"),
        (FileType::Text, "a\nb\n", "a\n\nb\n"),
        (FileType::Text, "a\n", "a\r\n"),
        (FileType::Text, "a\0", "b\0"),
        (FileType::Json, "{\"a\":1}", "{\"a\":1 /* c */}"),
        (FileType::Env, "P=a\n", "P=a\nP=b\n"),
    ] {
        assert_eq!(stale(kind, after, before, &[(before, after)]).0, after);
    }
    assert_eq!(stale(FileType::Env, "P=a\nP=b\n", "P=a\nOWN=1\n", &[("P=a\n", "P=a\nP=b\n")]).0, "P=a\nP=b\nOWN=1\n");
}

#[test]
fn lines_are_put_back_in_their_places() {
    let (before, after) = ("one\ntwo\nthree\n", "one\nnew\ntwo\n");
    let text = |here| stale(FileType::Text, after, here, &[(before, after)]);
    assert_eq!(text("one\ntwo\nthree\nown\n").0, "one\nnew\ntwo\nown\n");
    assert_eq!(text(before).0, after);
    assert_eq!(text("one\nnew\n").1, Vec::<String>::new());
    // A line in the place of one that arrived is kept beside it; one in the place of a replacement is an edit.
    assert_eq!(stale(FileType::Text, "1\nnew\n", "1\nown\n", &[("1\n", "1\nnew\n")]).0, "1\nnew\nown\n");
    let instead = [("port = 1\n", "port = 2\n")];
    assert_eq!(stale(FileType::Text, "port = 2\n", "port = 3\n", &instead).1, Vec::<String>::new());
    assert_eq!(stale(FileType::Text, "port = 2\n", "port = 1\nown\n", &instead).0, "port = 2\nown\n");
    // More lines than were replaced were added.
    let added = [("a\nport=1\nz\n", "a\nport=2\nhost=x\nz\n")];
    assert!(stale(FileType::Text, added[0].1, "a\nport=3\nz\n", &added).0.contains("host=x"));
    let beside = [("a\nb\nc\n", "a\nb\nX\nc2\n")];
    assert!(stale(FileType::Text, beside[0].1, "b\nc\na\nd\n", &beside).0.contains("X\n"));
    // What arrived is known wherever it was moved to.
    let moved = [("one\n", "one\ntwo\n"), ("one\ntwo\n", "two\none\n")];
    assert_eq!(stale(FileType::Text, "two\none\n", "one\nown\n", &moved).0, "two\none\nown\n");
    // A line that moved is not lacking.
    assert_eq!(text("new\none\ntwo\n").1, Vec::<String>::new());
}

#[test]
fn variables_are_known_by_their_names() {
    let (before, after) = ("A=1\nB=1\n", "A=2\nB=1\nC=1\n");
    let env = |here| stale(FileType::Env, after, here, &[(before, after)]);
    assert_eq!(env("A=1\nB=1\nOWN=1\n"), ("A=2\nB=1\nC=1\nOWN=1\n".into(), vec!["reverts A".into(), "lacks C".into()]));
    // A value of its own is an edit, wherever it stands.
    assert_eq!(env("B=1\nC=1\nA=3\n").1, Vec::<String>::new());
    assert_eq!(env("A=3\nB=1\nC=1\n").1, Vec::<String>::new());
    assert_eq!(env("A=2\nC=1\n").1, Vec::<String>::new());
}

/// What an arrival does to lines: which it moves where, and where it adds new ones.
fn moves_and_additions() -> impl Strategy<Value = (Vec<(u8, u8)>, Vec<u8>)> {
    (prop::collection::vec(any::<(u8, u8)>(), 0..3), prop::collection::vec(any::<u8>(), 0..3))
}

proptest! {
    /// Whatever was moved when a line arrived, and whatever an old view moves, edits and adds.
    #[test]
    fn no_line_that_arrived_is_lost_to_an_old_view(
        count in 1..6usize,
        arrivals in prop::collection::vec(moves_and_additions(), 1..4),
        view in any::<prop::sample::Index>(),
        edits in prop::collection::vec(any::<(u8, bool)>(), 0..4),
    ) {
        let place = |at: u8, lines: &[String]| usize::from(at) % (lines.len() + 1);
        let mut lines: Vec<String> = (0..count).map(|n| format!("line {n}")).collect();
        let mut texts = vec![lines.clone()];
        for (n, (moves, adds)) in arrivals.iter().enumerate() {
            for (from, to) in moves {
                let line = lines.remove(usize::from(*from) % lines.len());
                lines.insert(place(*to, &lines), line);
            }
            for (m, to) in adds.iter().enumerate() {
                lines.insert(place(*to, &lines), format!("new {n}.{m}"));
            }
            texts.push(lines.clone());
        }
        let known = &texts[view.index(arrivals.len())];
        let mut here = known.clone();
        for (n, (at, is_edit)) in edits.iter().enumerate() {
            let at = place(*at, &here);
            if *is_edit && at < here.len() {
                here.remove(at);
            }
            here.insert(at, format!("own {n}"));
        }
        let spelled = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let all: Vec<String> = texts.iter().map(|lines| spelled(lines)).collect();
        let pairs: Vec<(&str, &str)> = all.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        let (fresh, _) = stale(FileType::Text, &spelled(&lines), &spelled(&here), &pairs);
        for line in lines.iter().filter(|line| !known.contains(line)) {
            prop_assert!(fresh.lines().any(|other| other == line), "{line} is lost: {pairs:?}, {here:?}: {fresh:?}");
        }
    }
}

proptest! {
    /// A list of records with three fields each: an arrival sets fields and adds records, and so does an old view.
    #[test]
    fn no_field_of_a_record_that_arrived_is_lost_to_an_old_view(
        arrivals in prop::collection::vec(prop::collection::vec((0..5u8, 0..3usize), 1..4), 1..4),
        view in any::<prop::sample::Index>(),
        edits in prop::collection::vec((0..5u8, 0..3usize), 1..4),
    ) {
        type Records = BTreeMap<u8, [usize; 3]>;
        let mut value = 0;
        let mut set = |records: &mut Records, (id, field): (u8, usize)| {
            value += 1;
            records.entry(id).or_default()[field] = value;
        };
        let mut texts = vec![Records::from([(0, [0; 3]), (1, [0; 3])])];
        for changes in arrivals {
            let mut next = texts.last().unwrap().clone();
            changes.into_iter().for_each(|change| set(&mut next, change));
            texts.push(next);
        }
        let known = &texts[view.index(texts.len())];
        let (mut here, mut all) = (known.clone(), texts.last().unwrap().clone());
        // One that it adds under a name that has arrived is an edit of that.
        for edit in edits.into_iter().filter(|(id, _)| known.contains_key(id) || !texts.last().unwrap().contains_key(id)) {
            set(&mut here, edit);
            all.entry(edit.0).or_default()[edit.1] = here[&edit.0][edit.1];
        }
        let record = |(id, f): (&u8, &[usize; 3])| format!(r#"{{"id":{id},"a":{},"b":{},"c":{}}}"#, f[0], f[1], f[2]);
        let spelled = |records: &Records| records.iter().map(record).collect::<Vec<_>>();
        for (kind, line) in [(FileType::Json, ","), (FileType::JsonLines, "\n")] {
            let text = |records: &Records| match kind {
                FileType::Json => format!("[{}]", spelled(records).join(line)),
                _ => spelled(records).join(line) + line,
            };
            let all_texts: Vec<String> = texts.iter().map(&text).collect();
            let pairs: Vec<_> = all_texts.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
            let (fresh, _) = stale(kind, &text(texts.last().unwrap()), &text(&here), &pairs);
            let records = fresh.trim_matches(['[', ']', '\n']).replace("},{", "}\n{");
            let mut found: Vec<&str> = records.lines().collect();
            let mut wanted = spelled(&all);
            found.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(found, wanted, "{:?} {}", texts, fresh);
        }
    }
}
