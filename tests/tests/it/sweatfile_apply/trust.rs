//! What a repository's own `.shopfloor/config.toml` may set before anybody approved it.

use shopfloor_core::config::{INSIDE_ELSEWHERE, Kind, OPEN_ELSEWHERE, Setting, Trust};

use crate::support::world::World;

const TOOLS: [(&str, &[Setting]); 4] = [
    ("sweatfile-apply", sweatfile_apply::SETTINGS),
    ("overlay-sync", overlay_sync::SETTINGS),
    ("ledger-synth", ledger_synth::SETTINGS),
    ("worktree-spawn", worktree_spawn::SETTINGS),
];

/// Every setting with the table it stands in: `tool` or `tool.tables.\"name\"`.
fn all() -> Vec<(&'static str, String, &'static Setting)> {
    let mut all = Vec::new();
    for (tool, settings) in TOOLS {
        for setting in settings {
            match setting.kind {
                Kind::Tables(inner) => {
                    all.extend(inner.iter().map(|inner| (tool, format!("{}.\"x\"", setting.name), inner)));
                }
                _ => all.push((tool, String::new(), setting)),
            }
        }
    }
    all
}

#[test]
fn tools_know_what_needs_approval_in_each_others_tables() {
    let declared = |trust: Trust| {
        let mut names: Vec<String> = all()
            .into_iter()
            .filter(|(tool, _, setting)| setting.trust == trust && *tool != "sweatfile-apply")
            .map(|(tool, table, setting)| format!("{tool}.{}{}", table.replace("\"x\"", ""), setting.name))
            .collect();
        names.sort();
        names
    };
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(sorted(&OPEN_ELSEWHERE), declared(Trust::Open));
    assert_eq!(sorted(&INSIDE_ELSEWHERE), declared(Trust::Inside));
}

#[test]
fn whatever_runs_a_command_or_reaches_out_is_offered_for_approval() {
    let w = World::new();
    let app = w.app();
    for (tool, table, setting) in all() {
        let value = match setting.kind {
            Kind::Number => "3".to_owned(),
            Kind::Truth => "true".to_owned(),
            Kind::Choice(words) => format!("{:?}", words[0]),
            Kind::List => "[\"x\"]".to_owned(),
            _ => "\"/elsewhere\"".to_owned(),
        };
        let table = [tool, &table].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        app.write(".shopfloor/config.toml", &format!("[{table}]\n{} = {value}\n", setting.name));
        let listed = app.apply(&["approvals"]).exit(0).stdout;
        let is_offered = listed.contains("required") && listed.contains(".shopfloor/config.toml");
        // What only the user may set nobody can approve.
        let wanted = matches!(setting.trust, Trust::Approved | Trust::Inside);
        assert_eq!(is_offered, wanted, "[{table}] {}: {listed}", setting.name);
    }
    app.write(".shopfloor/config.toml", "[worktree-spawn]\nworktree_base = \"inside\"\n");
    assert!(!app.apply(&["approvals"]).exit(0).stdout.contains("config.toml"));
    // A setting of a tool that this one does not know needs approval, rather than nobody's.
    app.write(".shopfloor/config.toml", "[overlay-sync]\nto_come = \"x\"\n");
    assert!(app.apply(&["approvals"]).exit(0).stdout.contains("config.toml"));
}
