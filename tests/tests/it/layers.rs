//! Which layers count, and from where.

use crate::world::{World, text, write};

#[test]
fn the_repository_layer_is_the_main_checkouts_and_not_the_branchs() {
    let w = World::new();
    let app = w.app();
    app.approved("[env]\nA = \"main\"\n");
    let wt = app.worktree("wt");
    wt.write("sweatfile", "setup = [\"touch evil\"]\n");
    wt.apply(&[]).exit(0);
    assert!(!wt.has("evil"));
    assert_eq!(wt.read(".sweatshop-env"), "A=main\n");
}

#[test]
fn no_area_inside_a_git_work_tree_or_outside_home() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    w.at(w.home("")).git(&["init", "-q"]);
    app.apply(&[]).exit(0).err_has("is left out: it lies in the git work tree");
    assert!(!app.has(".sweatshop-env"));

    // The area would be the checkout itself.
    let single = w.repo("single");
    single.write("sweatfile", "[env]\nA = \"1\"\n");
    single.apply(&[]).exit(3);
    assert!(!single.has(".sweatshop-env"));
}

#[test]
fn the_area_can_be_named_but_not_inside_the_repository() {
    let mut w = World::new();
    write(&w.path("elsewhere/sweatfile"), "[env]\nA = \"flag\"\n");
    write(&w.path("from-env/sweatfile"), "[env]\nA = \"env\"\n");
    w.set("SWEATFILE_AREA", w.path("from-env").to_string_lossy());
    let app = w.app();
    app.apply(&[]).exit(0);
    assert_eq!(app.read(".sweatshop-env"), "A=env\n");
    let elsewhere = w.path("elsewhere");
    app.apply(&["--area", elsewhere.to_str().unwrap()]).exit(0);
    assert_eq!(app.read(".sweatshop-env"), "A=flag\n");
    app.write("area/sweatfile", "setup = [\"touch evil\"]");
    app.apply(&["--area", "area"]).exit(2).err_has("lies in");
    let out = app.apply(&["config", "--json"]).exit(0).json();
    assert_eq!(text(&out, "/source"), "environment: SWEATFILE_AREA");
}

#[test]
fn the_area_in_a_configuration_counts_from_the_user_and_once_approved_from_the_repository() {
    let w = World::new();
    let app = w.app();
    write(&w.path("user/sweatfile"), "[env]\nA = \"user\"\n");
    write(&w.path("repo/sweatfile"), "[env]\nA = \"repo\"\n");
    let config = |dir: &str| format!("[sweatfile-apply]\narea = \"{}\"\naera = \"x\"\n", w.path(dir).display());
    write(&w.home(".config/shopfloor/config.toml"), &config("user"));
    let out = app.apply(&[]).exit(0);
    out.err_has("config.toml:3: unknown setting `aera`; did you mean `area`?");
    assert_eq!(app.read(".sweatshop-env"), "A=user\n");
    app.write(".shopfloor/config.toml", &config("repo"));
    app.apply(&[]).exit(3).err_has(".shopfloor/config.toml is not approved");
    assert_eq!(app.read(".sweatshop-env"), "A=user\n");
    app.apply(&["approve", "--yes"]).exit(0);
    app.apply(&[]).exit(0);
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
    app.apply(&["--repo-root", root]).exit(3);
    app.apply(&["--repo-root", root, "--yes"]).exit(0);
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
    wt.apply(&["approve", "--yes"]).exit(0);
    wt.apply(&[]).exit(0);
    assert_eq!(wt.read(".sweatshop-env"), "A=wrapper\n");
    w.at(w.home("eng/wrap/.bare")).apply(&[]).exit(2).err_has("no work tree");

    // A bare repository on its own.
    here.git(&["clone", "-q", "--bare", "repos/app", "alone.git"]);
    let alone = w.at(w.home("eng/alone.git"));
    alone.write("sweatfile", "[env]\nA = \"bare\"\n");
    alone.run("git", &["worktree", "add", "-q", "../of-alone", "main"]).exit(0);
    let wt = w.at(w.home("eng/of-alone"));
    wt.apply(&["--yes"]).exit(0);
    assert_eq!(wt.read(".sweatshop-env"), "A=bare\n");

    // A separate git directory, from the main checkout and from a linked worktree.
    here.git(&["init", "-q", "--separate-git-dir", "sep-git", "sep"]);
    let sep = w.at(w.home("eng/sep"));
    sep.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    sep.approved("[env]\nA = \"separate\"\n");
    let wt = sep.worktree("of-sep");
    wt.apply(&[]).exit(0);
    assert_eq!(wt.read(".sweatshop-env"), "A=separate\n");

    // A submodule and a linked worktree of it.
    let url = app.path.to_str().unwrap();
    sep.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    let sub = w.at(w.home("eng/sep/sub"));
    sub.approved("[env]\nA = \"submodule\"\n");
    sub.git(&["worktree", "add", "-q", "../../of-sub"]);
    let wt = w.at(w.home("eng/of-sub"));
    wt.apply(&[]).exit(0);
    assert_eq!(wt.read(".sweatshop-env"), "A=submodule\n");
}

#[test]
fn a_workers_clone_takes_layers_and_approvals_from_its_source() {
    let w = World::new();
    let app = w.app();
    app.approved("[env]\nA = \"source\"\n");
    w.at(w.home("")).git(&["clone", "-q", "eng/repos/app", "clone"]);
    let clone = w.at(w.home("clone"));
    clone.write("sweatfile", "setup = [\"touch evil\"]\n");
    clone.git(&["config", "shopfloor.source", app.path.to_str().unwrap()]);
    clone.apply(&[]).exit(0);
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
    let out = app.apply(&["show"]).exit(0);
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
    app.apply(&["show", "--reveal"]).exit(0).out_has("TOKEN = \"secret\"");
    let layers = app.apply(&["show", "--layers", "--json"]).exit(0).json_lines();
    assert_eq!((text(&layers[0], "/name"), text(&layers[1], "/approval")), ("area", "required"));
}
