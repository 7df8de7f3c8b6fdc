//! Texts that were displaced: `conflicts`, `show` and `restore`.

use crate::support::overlay::{SETTINGS, edited, id, scene};
use crate::support::world::{World, text};

/// Case 5 of the design.
#[test]
fn a_conflict_is_decided_and_the_losing_text_can_be_restored() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, "{\"model\": \"x\", \"k\": 1}");
    s.attach();
    s.a.write(SETTINGS, "{\"model\": \"a\", \"k\": 1}");
    s.b.write(SETTINGS, "{\"model\": \"b\", \"k\": 2}");
    s.sync(1).err_has("a conflict was decided by rule");
    s.all_are(SETTINGS, "{\"model\": \"b\", \"k\": 2}");
    let conflict = &s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines()[0];
    assert_eq!((text(conflict, "/path"), conflict["places"][0].as_str()), (SETTINGS, Some("model")));
    assert_ne!(text(conflict, "/overlay"), text(conflict, "/here"));
    let id = text(conflict, "/id");
    assert_eq!(s.app.overlay(&["show", id]).exit(0).stdout, "{\"model\": \"a\", \"k\": 1}");
    assert_eq!(s.app.overlay(&["show", text(conflict, "/here")]).exit(0).stdout, "{\"model\": \"b\", \"k\": 2}");
    s.app.overlay(&["restore", id, "--to", ".env.old"]).succeeds();
    assert_eq!(s.app.read(".env.old"), "{\"model\": \"a\", \"k\": 1}");
    s.app.overlay(&["restore", id, "--to", ".env.old"]).exit(1).err_has("exists already");
    s.app.overlay(&["show", "ffffffff"]).exit(1).any_err();
    s.sync(0).any_err();
    // The result may be neither side's text: the loser is the side whose value was not taken.
    s.a.write(SETTINGS, "{\"model\": \"p\", \"k\": 2, \"pa\": 1}");
    s.b.write(SETTINGS, "{\"qb\": 1, \"model\": \"q\", \"k\": 2}");
    s.sync(1).any_err();
    assert!(s.text(SETTINGS).contains("\"q\"") && s.text(SETTINGS).contains("\"pa\""));
    let newest = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines().pop().unwrap();
    assert_eq!(text(&newest, "/winner"), "workspace");
    assert!(s.app.overlay(&["show", text(&newest, "/id")]).exit(0).stdout.contains("\"p\""));
    // With the other rule the overlay wins.
    s.a.write(SETTINGS, "{\"model\": \"b\", \"k\": 2}");
    s.sync(0).any_err();
    s.a.write(SETTINGS, "{\"model\": \"a2\", \"k\": 2}");
    s.put(SETTINGS, "{\"model\": \"o\", \"k\": 2}");
    s.app.overlay(&["sync", "--on-conflict", "overlay"]).exit(1).any_out().any_err();
    s.all_are(SETTINGS, "{\"model\": \"o\", \"k\": 2}");
}

#[test]
fn old_texts_are_collected_after_a_month_unless_a_conflict_refers_to_them() {
    let mut w = World::new();
    {
        let s = scene(&w);
        s.put(".env", "A=1\n");
        s.attach();
        for n in 2..5 {
            s.a.write(".env", &format!("A={n}\n"));
            s.sync(0).any_err();
        }
        s.a.write(".env", "A=x\n");
        s.b.write(".env", "A=y\n");
        s.sync(1).any_err();
    }
    let sha = |text: &str| {
        let out = w.at(w.path("")).sh(&format!("printf '{text}\\n' | sha256sum | cut -c1-64")).exit(0);
        out.stdout.trim().to_owned()
    };
    let (old, lost) = (sha("A=2"), sha("A=x"));
    let app = w.at(w.home("eng/repos/app"));
    app.overlay(&["show", &old]).succeeds();
    w.set("SHOPFLOOR_NOW", "2199-01-01T00:00:00Z");
    let app = w.at(w.home("eng/repos/app"));
    app.overlay(&["sync"]).exit(0);
    app.overlay(&["show", &old]).exit(1).err_has("nothing is kept");
    assert_eq!(app.overlay(&["show", &lost]).exit(0).stdout, "A=x\n", "a conflict still speaks of it");
    app.overlay(&["sync"]).exit(0);
}

#[test]
fn a_displaced_text_is_kept_for_a_month_however_old_it_was() {
    let mut w = World::new();
    {
        let s = scene(&w);
        s.put(".env", "A=old\n");
        s.attach();
    }
    w.set("SHOPFLOOR_NOW", "2199-01-01T00:00:00Z");
    let (app, a) = (w.at(w.home("eng/repos/app")), w.at(w.home("eng/repos/a")));
    a.write(".env", "A=new\n");
    app.overlay(&["sync"]).succeeds();
    let old = app.sh("printf 'A=old\\n' | sha256sum | cut -c1-64").exit(0).stdout;
    assert_eq!(app.overlay(&["show", old.trim()]).exit(0).stdout, "A=old\n");
}

#[test]
fn restore_puts_a_text_back_where_it_was() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, "{\"m\": 1}");
    s.attach();
    s.a.write(SETTINGS, "{\"m\": 2}");
    s.b.write(SETTINGS, "{\"m\": 3}");
    s.sync(1).any_err();
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    let id = id(&conflicts[0]);
    s.a.overlay(&["restore", id, "-n"]).succeeds().out_has("would restore 8 bytes to /");
    assert_eq!(s.a.read(SETTINGS), "{\"m\": 3}");
    s.a.overlay(&["restore", id, "--yes"]).succeeds().out_has("/a/.data/shared.json");
    assert_eq!(s.a.read(SETTINGS), "{\"m\": 2}");
    s.sync(0).any_err();
    s.all_are(SETTINGS, "{\"m\": 2}");
    for dry in [&[][..], &["-n"]] {
        s.app.overlay(&[&["restore", id], dry].concat()).exit(1).err_has("this workspace is not attached");
    }
}

#[test]
fn a_dry_run_of_a_sync_foresees_conflicts_and_what_spreads() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=2\n");
    let planned = s.app.overlay(&["sync", "-n"]).exit(0);
    planned.out_has("would push .env").out_has("would propagate .env");
    s.b.write(".env", "A=3\n");
    let planned = s.app.overlay(&["sync", "-n"]).exit(1);
    planned.err_has("a conflict would be decided by rule");
    let done = s.app.overlay(&["sync"]).exit(1);
    done.err_has("a conflict was decided by rule");
    assert!(done.stdout.contains("last_write") && done.stdout.contains("propagate"), "{done}");
    assert_eq!(planned.stdout.replace("would ", ""), done.stdout.as_str());
    s.all_are(".env", "A=3\n");
}

#[test]
fn a_dry_run_lists_what_the_command_does() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\nB=1\n", "A=2\nB=1\nPATH=/x\n");
    s.sync(1).any_err();
    let waiting = id(&s.held()[0]).to_owned();
    let records = |args: &[&str]| -> Vec<serde_json::Value> {
        let mut records = s.app.overlay(&[args, &["--json"]].concat()).exit(0).any_err().json_lines();
        for record in &mut records {
            let fields = record.as_object_mut().unwrap();
            fields.remove("time");
            let is_dry = fields.remove("dry_run").is_some();
            for key in ["accepted", "dropped", "undone"] {
                assert!(fields.remove(key).is_none_or(|is_done| is_done == !is_dry), "{key}: {fields:?}");
            }
        }
        records
    };
    let last = |what: &str| records(&["log"]).iter().rev().find(|r| r["rule"] == what).unwrap()["id"].clone();
    for args in [vec!["accept", &waiting], vec!["drop", ".env", "B"]] {
        let planned = records(&[&args[..], &["-n"]].concat());
        assert!(planned.len() > 2, "{planned:?}");
        assert_eq!(planned, records(&args));
    }
    let id = last("push");
    let args = ["undo", id.as_str().unwrap()];
    assert_eq!(records(&[&args[..], &["-n"]].concat()), records(&args));
}
