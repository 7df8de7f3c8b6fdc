//! The fast checkout writes what git writes.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::spawn::{app, subtree};
use crate::support::sweep::rounds;
use crate::support::world::{Repo, World, write};

#[test]
fn unusual_checkouts_are_left_to_git() {
    let w = World::new();
    let app = app(&w);
    app.commit("dir/in.txt", "in\n");
    app.commit("other/out.txt", "out\n");
    app.git(&["sparse-checkout", "set", "dir"]);
    let child = subtree(&app, &["sparse"]);
    assert!(child.has("dir/in.txt") && !child.has("other/out.txt"));
    assert_eq!(child.git(&["status", "--porcelain"]), "");
    app.git(&["sparse-checkout", "disable"]);
    app.commit(".gitattributes", "*.up filter=up\n");
    app.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    app.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    app.commit("x.up", "shout\n");
    assert_eq!(subtree(&app, &["filtered"]).read("x.up"), "SHOUT\n");
    app.commit(".gitattributes", "*.id ident\n");
    app.commit("x.id", "$Id$\n");
    assert!(subtree(&app, &["ident"]).read("x.id").starts_with("$Id: "));
}

/// Every path with its kind, mode and content, and git's index without stat data.
fn image(repo: &Repo<'_>) -> (BTreeMap<String, String>, String) {
    let mut files = BTreeMap::new();
    walk(&repo.path, &repo.path, &mut files);
    (files, repo.git(&["ls-files", "--stage", "-v", "-z"]))
}

fn walk(top: &Path, dir: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
        if matches!(name.as_str(), ".git" | ".shopfloor" | ".mcp.json") {
            continue;
        }
        let meta = path.symlink_metadata().unwrap();
        let body = match () {
            () if meta.is_symlink() => format!("{:?}", path.read_link().unwrap()),
            () if meta.is_file() => format!("{:?}", String::from_utf8_lossy(&std::fs::read(&path).unwrap())),
            () => String::new(),
        };
        files.insert(name, format!("{:o} {body}", meta.mode()));
        if meta.is_dir() {
            walk(top, &path, files);
        }
    }
}

fn tree() -> impl Strategy<Value = BTreeMap<String, (u8, String)>> {
    let name = prop_oneof![
        "[a-c]{1,2}(\\.(txt|bat|bin|sh))?",
        Just("ü ö".to_owned()),
        Just("-x".to_owned()),
        Just(" y ".to_owned())
    ];
    let path = proptest::collection::vec(name, 1..4).prop_map(|parts| parts.join("/"));
    let content = prop_oneof![
        "[a-z]{0,20}",
        Just("one\ntwo\n".to_owned()),
        Just("one\r\ntwo\r\n".to_owned()),
        Just("mixed\r\nlines\n".to_owned()),
        Just("nul\0\n".to_owned()),
        Just("$Id$\n".to_owned()),
    ];
    proptest::collection::btree_map(path, (0..4u8, content), 1..20)
}

fn attributes() -> impl Strategy<Value = String> {
    let pattern = prop_oneof![Just("*"), Just("*.txt"), Just("*.bat"), Just("a/*"), Just("*.bin")];
    let value = prop_oneof![
        Just("text"),
        Just("-text"),
        Just("text=auto"),
        Just("eol=lf"),
        Just("eol=crlf"),
        Just("text eol=crlf"),
        Just("text=auto eol=crlf"),
        Just("binary"),
        Just("!text"),
        Just("ident"),
        Just("linguist-generated"),
    ];
    let lines = proptest::collection::vec((pattern, value), 0..4);
    lines.prop_map(|lines| lines.iter().map(|(p, v)| format!("{p} {v}\n")).collect())
}

#[test]
fn the_fast_checkout_writes_what_git_writes() {
    let config =
        [("", ""), ("core.autocrlf", "true"), ("core.eol", "crlf"), ("core.symlinks", "false"), ("index.version", "4")];
    let mut runner = TestRunner::new(Config {
        cases: u32::try_from(rounds(8, 24)).unwrap(),
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (tree(), attributes(), 0..config.len() * 3, prop_oneof![Just("022"), Just("002"), Just("077")]);
    let run = runner.run(&strategy, |(tree, attributes, n, umask)| {
        let w = World::new();
        let repo = w.repo("app");
        for (path, (kind, content)) in &tree {
            let full = repo.path.join(path);
            // A name may be a directory to another one.
            if full.exists() || full.ancestors().skip(1).any(|dir| dir.symlink_metadata().is_ok_and(|m| !m.is_dir())) {
                continue;
            }
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            match kind {
                0 | 1 => std::fs::write(&full, content).unwrap(),
                2 => {
                    std::fs::write(&full, content).unwrap();
                    std::fs::set_permissions(&full, std::fs::Permissions::from_mode(0o755)).unwrap();
                }
                _ => {
                    std::os::unix::fs::symlink(format!("x{}", content.replace(['\0', '\n', '\r'], "")), &full).unwrap()
                }
            }
        }
        repo.git(&["add", "-A"]);
        write(&repo.path.join(".gitattributes"), &attributes);
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "all"]);
        if let Some((key, value)) = config.get(n).filter(|(key, _)| !key.is_empty()) {
            repo.git(&["config", key, value]);
        }
        let plain = repo.path.with_file_name("plain");
        repo.sh(&format!(
            "umask {umask}; git worktree add -q {} HEAD && worktree-spawn -q subtree fast",
            plain.display()
        ))
        .succeeds();
        let (plain, fast) = (w.at(plain), w.at(repo.path.join(".shopfloor/worktrees/fast")));
        prop_assert_eq!(image(&fast), image(&plain));
        prop_assert_eq!(extension(&fast, b"TREE"), extension(&plain, b"TREE"));
        // git needs no refresh to see that the worktree is clean, because the index holds the stat data.
        let status = |at: &Repo<'_>| {
            at.run_with("git", &["diff-files", "--name-only"], &[("GIT_OPTIONAL_LOCKS", "0")]).exit(0).stdout
        };
        prop_assert_eq!(status(&fast), status(&plain));
        prop_assert_eq!(fast.git(&["status", "--porcelain"]), plain.git(&["status", "--porcelain"]));
        Ok(())
    });
    run.unwrap();
}

/// The index extension with this signature; empty if there is none.
fn extension(repo: &Repo<'_>, signature: &[u8; 4]) -> Vec<u8> {
    let path = repo.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let bytes = std::fs::read(path.trim_end()).unwrap();
    let Some(at) = bytes.windows(4).rposition(|window| window == signature) else { return Vec::new() };
    let length = u32::from_be_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    bytes[at + 8..at + 8 + length].to_vec()
}

#[test]
fn an_index_holds_the_tree_ids_that_git_writes() {
    let w = World::new();
    let app = app(&w);
    for path in ["a/b/c.txt", "a/bb/d.txt", "zz/x", "y/x", "a-b/x"] {
        app.commit(path, "x\n");
    }
    let child = subtree(&app, &["x"]);
    let by_git = app.worktree("by-git");
    let trees = extension(&child, b"TREE");
    assert!(!trees.is_empty());
    assert_eq!(trees, extension(&by_git, b"TREE"));
    assert_eq!(child.git(&["write-tree"]), app.git(&["rev-parse", "HEAD^{tree}"]));
    child.git(&["fsck", "--strict"]);
    // Files that are staged later are committed too.
    child.write("a/b/c.txt", "changed\n");
    child.git(&["commit", "-q", "-a", "-m", "changed"]);
    assert_eq!(child.git(&["status", "--porcelain"]) + &child.git(&["show", "HEAD:a/b/c.txt"]), "changed\n");
}
