//! Which settings of a repository's `.shopfloor/config.toml` need approval.

use shopfloor_core::config::{INSIDE_ELSEWHERE, OPEN_ELSEWHERE, Setting, SettingType, Trust};

use crate::support::world::World;

const TOOLS: [(&str, &[Setting]); 4] = [
    ("sweatfile-apply", sweatfile_apply::SETTINGS),
    ("overlay-sync", overlay_sync::SETTINGS),
    ("ledger-synth", ledger_synth::SETTINGS),
    ("worktree-spawn", worktree_spawn::SETTINGS),
];

/// Every setting with its table: `tool` or `tool.tables.\"name\"`.
fn all() -> Vec<(&'static str, String, &'static Setting)> {
    let mut all = Vec::new();
    for (tool, settings) in TOOLS {
        for setting in settings {
            match setting.kind {
                SettingType::Tables(inner) => {
                    all.extend(inner.iter().map(|inner| (tool, format!("{}.\"x\"", setting.name), inner)));
                }
                _ => all.push((tool, String::new(), setting)),
            }
        }
    }
    all
}

#[test]
fn tools_agree_which_settings_need_approval() {
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
fn settings_that_run_commands_or_reach_out_need_approval() {
    let w = World::new();
    let app = w.app();
    for (tool, table, setting) in all() {
        let value = match setting.kind {
            SettingType::Number => "3".to_owned(),
            SettingType::Truth => "true".to_owned(),
            SettingType::Choice(words) => format!("{:?}", words[0]),
            SettingType::List => "[\"x\"]".to_owned(),
            _ => "\"/elsewhere\"".to_owned(),
        };
        let table = [tool, &table].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        app.write(".shopfloor/config.toml", &format!("[{table}]\n{} = {value}\n", setting.name));
        let listed = app.apply(&["approvals"]).exit(0).stdout;
        let is_offered = listed.contains("required") && listed.contains(".shopfloor/config.toml");
        // Settings that only the user may set cannot be approved.
        let wanted = matches!(setting.trust, Trust::Approved | Trust::Inside);
        assert_eq!(is_offered, wanted, "[{table}] {}: {listed}", setting.name);
    }
    app.write(".shopfloor/config.toml", "[worktree-spawn]\nworktree_base = \"inside\"\n");
    assert!(!app.apply(&["approvals"]).exit(0).stdout.contains("config.toml"));
    // A setting that this tool does not know needs approval too.
    app.write(".shopfloor/config.toml", "[overlay-sync]\nto_come = \"x\"\n");
    assert!(app.apply(&["approvals"]).exit(0).stdout.contains("config.toml"));
}
