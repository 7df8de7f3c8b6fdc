//! Layers: which ones count, and how they merge.

use crate::support::world::{World, mode, text, write};

#[test]
fn the_repository_layer_is_the_main_checkouts_and_not_the_branchs() {
    let w = World::new();
    let app = w.app();
    app.approved("[env]\nA = \"main\"\n");
    let wt = app.worktree("wt");
    wt.write("sweatfile", "setup = [\"touch evil\"]\n");
    wt.apply(&[]).succeeds();
    assert!(!wt.has("evil"));
    assert_eq!(wt.read(".sweatshop-env"), "A=main\n");
}

#[test]
fn no_area_inside_a_git_worktree_or_outside_home() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    w.at(w.home("")).git(&["init", "-q"]);
    app.apply(&[]).succeeds().err_has("is left out: it lies in the git worktree").err_has("set `area = ");
    assert!(!app.has(".sweatshop-env"));
    let config = format!("[sweatfile-apply]\narea = {:?}\n", w.home("eng"));
    write(&w.home(".config/shopfloor/config.toml"), &config);
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=1\n");
    std::fs::remove_file(w.home(".config/shopfloor/config.toml")).unwrap();

    // The area directory is the checkout itself.
    let single = w.repo("single");
    single.write("sweatfile", "[env]\nA = \"1\"\n");
    single.apply(&[]).exit(3).any_out().any_err();
    assert!(!single.has(".sweatshop-env"));
}

#[test]
fn the_area_can_be_named_but_not_inside_the_repository() {
    let mut w = World::new();
    write(&w.path("elsewhere/sweatfile"), "[env]\nA = \"flag\"\n");
    write(&w.path("from-env/sweatfile"), "[env]\nA = \"env\"\n");
    w.set("SWEATFILE_AREA", w.path("from-env").to_string_lossy());
    let app = w.app();
    let users = w.home(".config/shopfloor/config.toml");
    write(&users, &format!("[sweatfile-apply]\nareas = [\"~/other\", {:?}]\n", w.path("from-env")));
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=env\n");
    let elsewhere = w.path("elsewhere");
    app.apply(&["--area", elsewhere.to_str().unwrap()]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=flag\n");
    app.write("area/sweatfile", "setup = [\"touch evil\"]");
    app.apply(&["--area", "area"]).exit(2).err_has("lies in");
    let out = app.apply(&["config", "--json"]).exit(0).json_lines();
    assert_eq!(text(&out[0], "/source"), "environment: SWEATFILE_AREA");
}

#[test]
fn a_variable_cannot_make_an_area_trusted() {
    let mut w = World::new();
    w.set("SWEATFILE_AREA", w.home("eng/repos/stranger").to_string_lossy());
    let app = w.app();
    w.area("[env]\nA = \"eng\"\n");
    let stranger = w.repo("eng/repos/stranger");
    stranger.write("sweatfile", "setup = [\"touch $HOME/evil\"]\n");
    let users = w.home(".config/shopfloor/config.toml");
    for args in [&[][..], &["check"], &["show"], &["-n"], &["approve", "--yes"]] {
        let refused = app.apply(args).exit(2);
        refused.err_has("SWEATFILE_AREA names").err_has("area = ").err_has("shopfloor/config.toml").err_has("--area");
    }
    // The repository's own file cannot name a trusted area for the variable either, approved or not.
    let config = format!("[sweatfile-apply]\narea = {0:?}\nareas = [{0:?}]\n", stranger.path);
    app.write(".shopfloor/config.toml", &config);
    app.apply(&[]).exit(2).err_has("SWEATFILE_AREA names");
    app.run_with("sweatfile-apply", &["approve", "--yes"], &[("SWEATFILE_AREA", "")]).succeeds().any_err();
    app.apply(&[]).exit(2).err_has("SWEATFILE_AREA names");
    assert!(!w.home("evil").exists() && !app.has(".sweatshop-env"));
    std::fs::remove_file(app.path.join(".shopfloor/config.toml")).unwrap();
    // In a hook the problem is a notice.
    app.apply(&["hook", "install"]).succeeds();
    app.run("git", &["worktree", "add", "-q", "../wt"]).exit(0).err_has("SWEATFILE_AREA names");
    // The variable may name the default area, and any area that the user's configuration names.
    let eng = w.home("eng").to_string_lossy().into_owned();
    app.run_with("sweatfile-apply", &[], &[("SWEATFILE_AREA", &eng)]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=eng\n");
    write(&users, &format!("[sweatfile-apply]\narea = {:?}\n", stranger.path));
    app.apply(&[]).succeeds();
    assert!(w.home("evil").exists());
}

#[test]
fn the_area_in_a_configuration_counts_from_the_user_and_once_approved_from_the_repository() {
    let w = World::new();
    let app = w.app();
    write(&w.path("user/sweatfile"), "[env]\nA = \"user\"\n");
    write(&w.path("repo/sweatfile"), "[env]\nA = \"repo\"\n");
    let config = |dir: &str| format!("[sweatfile-apply]\narea = \"{}\"\naera = \"x\"\n", w.path(dir).display());
    write(&w.home(".config/shopfloor/config.toml"), &config("user"));
    let out = app.apply(&[]).succeeds();
    out.err_has("config.toml:3: unknown setting `aera`; did you mean `area`?");
    assert_eq!(app.read(".sweatshop-env"), "A=user\n");
    app.write(".shopfloor/config.toml", &config("repo"));
    app.apply(&[]).exit(3).err_has(".shopfloor/config.toml is not approved");
    assert_eq!(app.read(".sweatshop-env"), "A=user\n");
    app.apply(&["approve", "--yes"]).succeeds().any_err();
    app.apply(&[]).succeeds().any_err();
    assert_eq!(app.read(".sweatshop-env"), "A=repo\n");
    app.write(".shopfloor/config.toml", "[sweatfile-apply]\narea = 3\n");
    app.apply(&[]).exit(2).err_has("config.toml:2:8: `area` must be a string");
}

#[test]
fn repo_root_names_another_repository_layer() {
    let w = World::new();
    let app = w.app();
    write(&w.path("shared/sweatfile"), "[env]\nA = \"shared\"\n");
    let root = w.path("shared");
    let root = root.to_str().unwrap();
    app.apply(&["--repo-root", root]).exit(3).any_out().any_err();
    app.apply(&["--repo-root", root, "--yes"]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=shared\n");
}

#[test]
fn bare_separate_and_submodule_layouts_find_their_main_checkout() {
    let w = World::new();
    let app = w.app();
    let here = w.at(w.home("eng"));

    // A bare repository in a wrapper directory.
    here.git(&["clone", "-q", "--bare", "repos/app", "wrap/.bare"]);
    let wrap = w.at(w.home("eng/wrap"));
    wrap.write("sweatfile", "[env]\nA = \"wrapper\"\n");
    wrap.run("git", &["-C", ".bare", "worktree", "add", "-q", "../main", "main"]).exit(0);
    let wt = w.at(w.home("eng/wrap/main"));
    wt.apply(&["approve", "--yes"]).succeeds();
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read(".sweatshop-env"), "A=wrapper\n");
    w.at(w.home("eng/wrap/.bare")).apply(&[]).exit(2).err_has("no work tree");

    // A bare repository on its own.
    here.git(&["clone", "-q", "--bare", "repos/app", "alone.git"]);
    let alone = w.at(w.home("eng/alone.git"));
    alone.write("sweatfile", "[env]\nA = \"bare\"\n");
    alone.run("git", &["worktree", "add", "-q", "../of-alone", "main"]).exit(0);
    let wt = w.at(w.home("eng/of-alone"));
    wt.apply(&["--yes"]).succeeds();
    assert_eq!(wt.read(".sweatshop-env"), "A=bare\n");

    // A separate git directory, from the main checkout and from a linked worktree.
    here.git(&["init", "-q", "--separate-git-dir", "sep-git", "sep"]);
    let sep = w.at(w.home("eng/sep"));
    sep.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    sep.approved("[env]\nA = \"separate\"\n");
    let wt = sep.worktree("of-sep");
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read(".sweatshop-env"), "A=separate\n");

    // A submodule and a linked worktree of it.
    let url = app.path.to_str().unwrap();
    sep.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    let sub = w.at(w.home("eng/sep/sub"));
    sub.approved("[env]\nA = \"submodule\"\n");
    sub.git(&["worktree", "add", "-q", "../../of-sub"]);
    let wt = w.at(w.home("eng/of-sub"));
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read(".sweatshop-env"), "A=submodule\n");
}

#[test]
fn a_workers_clone_takes_layers_and_approvals_from_its_source() {
    let w = World::new();
    let app = w.app();
    app.approved("[env]\nA = \"source\"\n");
    let clone = w.workers_clone(&app, "clone");
    clone.write("sweatfile", "setup = [\"touch evil\"]\n");
    clone.apply(&[]).succeeds();
    assert_eq!(clone.read(".sweatshop-env"), "A=source\n");
    assert!(!clone.has("evil"));
    assert_eq!(clone.excludes(), [".sweatshop-env"]);
}

#[test]
fn show_prints_the_merged_result_and_hides_values() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\".x\"]\n[env]\nTOKEN = \"secret\"\n[files.x]\ncontent = \"secret\"\n[files.y]\nsource = \"there\"\n");
    app.write("sweatfile", "setup = [\"true\"]\n");
    let out = app.apply(&["show"]).succeeds();
    assert!(!out.stdout.contains("secret"));
    let home = w.home("eng/there");
    insta::assert_snapshot!(out.stdout.replace(home.to_str().unwrap(), "AREA/there"), @r#"
    git_excludes = [".x"]
    setup = ["true"]

    [env]
    TOKEN = "<redacted: use --reveal>"

    [files.x]
    content = "<redacted: use --reveal>"

    [files.y]
    source = "AREA/there"
    "#);
    app.apply(&["show", "--reveal"]).succeeds().out_has("TOKEN = \"secret\"");
    let layers = app.apply(&["show", "--layers", "--json"]).exit(0).json_lines();
    assert_eq!((text(&layers[0], "/name"), text(&layers[1], "/approval")), ("area", "required"));
}

#[test]
fn inherited_variables_name_a_worktree_that_does_not_name_its_repository() {
    let w = World::new();
    let app = w.app();
    w.at(w.home("")).sh("git init -q --bare dots && mkdir files").exit(0);
    let files = w.at(w.home("files"));
    let (dots, top) = (w.home("dots"), w.home("files"));
    let vars = [("GIT_DIR", dots.to_str().unwrap()), ("GIT_WORK_TREE", top.to_str().unwrap())];
    files.write("sweatfile", "git_excludes = [\"x\"]\n[env]\nA = \"1\"\n");
    files.run_with("sweatfile-apply", &["--yes"], &vars).succeeds();
    assert_eq!(files.read(".sweatshop-env"), "A=1\n");
    // Inside a worktree that has a repository of its own, that repository is used.
    app.write("sub/x", "");
    let git_dir = app.path.join(".git");
    let sub = w.at(app.path.join("sub"));
    let out = sub.run_with("sweatfile-apply", &["--json"], &[("GIT_DIR", git_dir.to_str().unwrap())]).exit(0).json();
    assert_eq!(text(&out, "/worktree"), app.path.to_str().unwrap());
}

#[test]
fn a_separate_directory_called_dot_git_is_not_a_main_checkout() {
    let w = World::new();
    w.at(w.home("")).sh("mkdir -p eng/store && git init -q --separate-git-dir eng/store/.git eng/sep").exit(0);
    let sep = w.at(w.home("eng/sep"));
    sep.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    sep.approved("[env]\nA = \"sep\"\n");
    write(&w.home("eng/store/sweatfile"), "setup = [\"touch evil\"]\n");
    let wt = sep.worktree("of-sep");
    wt.apply(&[]).succeeds();
    assert_eq!((wt.read(".sweatshop-env"), wt.has("evil")), ("A=sep\n".into(), false));
}

#[test]
fn an_area_in_another_worktree_of_the_repository_is_refused() {
    let w = World::new();
    let app = w.app();
    let sibling = app.worktree("sibling");
    sibling.write("sweatfile", "setup = [\"touch evil\"]\n");
    app.apply(&["--area", sibling.path.to_str().unwrap()]).exit(2).err_has("lies in");
    assert!(!app.has("evil"));
}

#[test]
fn an_unapproved_layer_does_not_affect_the_area() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n[files.claude]\nsource = \"~\"\n");
    app.write("sweatfile", "[files.\"claude/x\"]\ncontent = \"x\"\n");
    app.apply(&[]).exit(3).any_out().any_err();
    assert_eq!(app.read(".sweatshop-env"), "A=1\n");
    app.apply(&["approve", "--yes"]).exit(2).err_has("one lies inside the other");
}

#[test]
fn an_unapproved_edit_removes_nothing() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"area\"\n[files.x]\ncontent = \"area\"\n");
    let text = "[env]\nA = \"repo\"\nB = \"repo\"\n[files.x]\ncontent = \"repo\"\n";
    app.approved(text);
    app.apply(&[]).succeeds().any_err();
    app.write("sweatfile", &format!("{text}# edited\n"));
    app.apply(&[]).exit(3).any_out().any_err();
    assert_eq!((app.read(".sweatshop-env"), app.read(".x")), ("A=repo\nB=repo\n".into(), "repo".into()));
    app.apply(&["approve", "--yes"]).succeeds();
    app.apply(&[]).exit(0);
    app.apply(&["check"]).exit(0);
    // A deleted sweatfile differs from one that waits for approval.
    std::fs::remove_file(app.path.join("sweatfile")).unwrap();
    app.apply(&[]).succeeds();
    assert_eq!((app.read(".sweatshop-env"), app.read(".x")), ("A=area\n".into(), "area".into()));
}

#[test]
fn show_and_warnings_escape_terminal_sequences() {
    let w = World::new();
    let app = w.app();
    app.write(
        "sweatfile",
        "setup = [\"a\\u202eb\\u009bc\"]\n[files.\"a\\nsweatfile-apply: error: b\"]\ncontent = \"x\"\n",
    );
    let out = app.apply(&["show", "--reveal"]).succeeds();
    assert!(!out.stdout.contains(['\u{202e}', '\u{9b}']), "{}", out.stdout);
    let same: Vec<&str> = out.stdout.lines().filter(|l| l.contains("\\U0000202E")).collect();
    assert_eq!(same.len(), 1, "{}", out.stdout);
    let out = app.apply(&["--yes", "--no-setup"]).succeeds();
    assert!(!out.stderr.lines().any(|l| l.starts_with("sweatfile-apply: error: b")), "{}", out.stderr);
}

#[test]
fn an_area_in_a_clones_source_is_refused() {
    let w = World::new();
    let app = w.app();
    app.write("sub/sweatfile", "setup = [\"touch evil\"]\n");
    let clone = w.workers_clone(&app, "clone");
    clone.apply(&["--area", app.path.join("sub").to_str().unwrap()]).exit(2).err_has("lies in");
    assert!(!clone.has("evil"));
}

#[test]
fn an_unapproved_edit_runs_no_setup_again() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo area >> log\"]\n");
    let text = "setup = [\"echo repo >> log\"]\n";
    app.approved(text);
    app.apply(&[]).succeeds();
    app.write("sweatfile", &format!("{text}# edited\n"));
    app.apply(&[]).exit(3).any_err();
    app.apply(&["approve", "--yes"]).succeeds();
    app.apply(&[]).exit(0);
    assert_eq!(app.read("log"), "area\nrepo\n");
}

/// Case 2 of the design.
#[test]
fn arrays_append_in_order_and_empty_clears() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"a\"]\nsetup = [\"echo area >> log\"]");
    app.approved("git_excludes = [\"b\"]\nsetup = [\"echo repo >> log\"]");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read("log"), "area\nrepo\n");
    let excludes = wt.excludes();
    let at = |pattern: &str| excludes.iter().position(|l| l == pattern).unwrap();
    assert!(at("a") < at("b"), "{excludes:?}");

    app.approved("setup = []");
    let other = app.worktree("other");
    other.apply(&[]).exit(0);
    assert!(!other.has("log"));
}

/// Case 3 of the design.
#[test]
fn an_empty_value_removes_the_inherited_key() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\nB = \"2\"\n");
    app.approved("[env]\nA = \"\"\n");
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "B=2\n");
    assert_eq!(mode(&app.path.join(".sweatshop-env")), 0o600);
}

/// Case 4 of the design.
#[test]
fn an_empty_source_clears_the_entry_and_makes_no_directory() {
    let w = World::new();
    let app = w.app();
    write(&w.home("settings.json"), "{}");
    w.area("[files.\"claude/settings.local.json\"]\nsource = \"~/settings.json\"\n");
    app.approved("[files.\"claude/settings.local.json\"]\nsource = \"\"\n");
    app.apply(&[]).succeeds();
    assert!(!app.has(".claude"));
}

#[test]
fn an_area_that_others_can_write_does_not_count() {
    let w = World::new();
    let app = w.app();
    app.apply(&["hook", "install"]).succeeds();
    w.area("setup = [\"touch ~/ran\"]\n[env]\nA = \"1\"\n");
    let left_out = |open: &str, close: &str, named: &str| {
        app.sh(open).exit(0);
        let reason = format!("others can write to {}", w.home(named).display());
        let out = app.apply(&[]).exit(0).any_out();
        out.err_has("/sweatfile is left out").err_has(reason.trim_end_matches('/')).err_has("chmod go-w");
        for args in [&["check"][..], &["show"], &["approve", "--yes"]] {
            app.apply(args).any_status().any_out().err_has("is left out");
        }
        let added = app.run("git", &["worktree", "add", "-q", "--detach", "../wt"]).exit(0);
        added.err_has("is left out");
        app.git(&["worktree", "remove", "--force", "../wt"]);
        assert!(!w.home("ran").exists() && !app.has(".sweatshop-env"), "{open}");
        app.sh(close).exit(0);
    };
    left_out("chmod 1777 ~/eng", "chmod 755 ~/eng", "eng");
    left_out("chmod 757 ~/eng", "chmod 755 ~/eng", "eng");
    left_out("chmod 646 ~/eng/sweatfile", "chmod 644 ~/eng/sweatfile", "eng/sweatfile");
    left_out("chmod 757 ~", "chmod 755 ~", "");
    // A link counts as what it leads to, and as the directories on the way.
    let back = "rm ~/eng/sweatfile; mv ~/open/sweatfile ~/eng; rmdir ~/open";
    left_out("mkdir -m 777 ~/open; mv ~/eng/sweatfile ~/open; ln -s ../open/sweatfile ~/eng", back, "open");
    left_out(
        "mv ~/eng ~/real; chmod 777 ~/real; ln -s real ~/eng",
        "rm ~/eng; mv ~/real ~/eng; chmod 755 ~/eng",
        "real",
    );
    app.apply(&[]).succeeds();
    assert!(w.home("ran").exists());
    // What it brought while it counted stays.
    app.sh("chmod 777 ~/eng").exit(0);
    app.apply(&[]).exit(0).any_out().err_has("is left out");
    app.apply(&["check"]).exit(0).err_has("is left out");
    assert_eq!(app.read(".sweatshop-env"), "A=1\n");
}

#[test]
fn a_named_area_that_others_can_write_does_not_count_either() {
    let w = World::new();
    let app = w.app();
    write(&w.home("shared/own/sweatfile"), "setup = [\"touch ~/ran\"]\n");
    app.sh("chmod 1777 ~/shared").exit(0);
    write(&w.home(".config/shopfloor/config.toml"), &format!("[sweatfile-apply]\narea = {:?}\n", w.home("shared/own")));
    app.apply(&[]).exit(0).any_out().err_has("shared/own/sweatfile is left out: others can write to");
    assert!(!w.home("ran").exists());
}

#[test]
fn an_area_of_another_user_does_not_count() {
    if !crate::support::world::needs_root() {
        return;
    }
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"touch ~/ran\"]\n");
    write(&w.home("own"), "setup = [\"touch ~/ran\"]\n");
    for theirs in [
        "chown 65534 ~/eng/sweatfile",
        "chown -h 65534 ~/eng",
        "ln -sf ~/own ~/eng/sweatfile; chown -h 65534 ~/eng/sweatfile",
    ] {
        app.sh(theirs).exit(0);
        let out = app.apply(&[]).exit(0).any_out();
        out.err_has("is left out").err_has("belongs to another user").err_has("sudo chown -h 0");
        assert!(!w.home("ran").exists(), "{theirs}");
        app.sh("chown -h 0 ~/eng ~/eng/sweatfile").exit(0);
    }
    app.apply(&[]).succeeds();
    assert!(w.home("ran").exists());
}

#[test]
fn the_newer_format_is_named_once_never_run_and_converted() {
    let w = World::new();
    let app = w.app();
    let newer = "git_excludes = [\"/.a\"]\n[hooks]\ncreate = \"touch ~/ran; echo $WORKTREE\"\nstop = \"touch ~/ran\"\n\
                 pre-merge = \"just\"\n[direnv]\nenvrc = [\"source_up\", \"use flake\"]\n[direnv.dotenv]\n\
                 CACHE = \"$WORKTREE/.tmp\"\nOTHER = \"${HOME}/x\"\nPLAIN = \"1\"\n[git]\nexcludes = [\".x/\"]\n\
                 [[mcps]]\nname = \"m\"\n";
    app.write("sweatfile", newer);
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let told = app.apply(&[]).exit(0).any_out();
    told.err_has("sweatfile:2:2: `hooks`, `direnv`, `git`, `mcps`: of the newer format, and not run");
    assert!(!w.at(w.home("")).has("ran") && !app.has(".envrc"));
    let converted = app.apply(&["convert"]).exit(0).any_out().stdout.to_string();
    for line in [
        "    \"/.a\",\n    \".x/\",",
        "CACHE = \"{worktree}/.tmp\"",
        "PLAIN = \"1\"",
        "template = true",
        "[files.envrc]",
        "# hooks.stop = \"touch ~/ran\"",
        "# hooks.pre-merge = \"just\"",
        "# direnv.dotenv.OTHER = \"${HOME}/x\"",
        "# mcps = ",
    ] {
        assert!(converted.contains(line), "{line} in\n{converted}");
    }
    // What comes out counts, and direnv knows the file before the rest runs.
    w.program("direnv", "echo \"direnv $*\" >> ~/ran; cat .envrc >> ~/ran");
    app.write("sweatfile", &converted);
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).any_out().any_err();
    let ran = w.at(w.home("")).read("ran");
    assert_eq!(ran, "direnv allow\nsource_up\nuse flake\ndotenv_if_exists .sweatshop-env\n");
    assert!(wt.read(".sweatshop-env").contains(&format!("CACHE={}/.tmp", wt.path.display())));
    // What inherits inherits still, and what clears clears.
    app.write(
        "clears",
        "odd = 1\nteardown = []\n[env]\nA = \"\"\n[files.x]\nsource = \"\"\n[caches.y]\nfrom = \"\"\n[claude]\nallow = []\n[odd2.x]\nk = 1\n",
    );
    let cleared = app.apply(&["convert", "clears"]).exit(0).any_out().stdout.to_string();
    for line in
        ["teardown = []", "A = \"\"", "[files.x]\nsource = \"\"", "[caches.y]\nfrom = \"\"", "# claude.allow = []"]
    {
        assert!(cleared.contains(line), "{line} in\n{cleared}");
    }
    assert!(cleared.contains("# odd = 1\n") && cleared.contains("# odd2.x.k = 1\n"), "{cleared}");
    assert!(!cleared.contains("git_excludes") && !cleared.contains("setup"), "{cleared}");
    app.write("wrong", "setup = [1]\n[hooks]\ncreate = \"true\"\n");
    app.apply(&["convert", "wrong"]).exit(0).any_out().err_has("wrong:1:10: `setup` must hold strings and tables only");
    app.apply(&["convert"]).exit(1).err_has("has nothing of the newer format");
    app.write("other", "[hooks\n");
    app.apply(&["convert", "other"]).exit(2).err_has("other:1:");
    app.apply(&["convert", "none"]).exit(2).err_has("there is no");
}
