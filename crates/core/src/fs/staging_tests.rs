//! Staging on a real file system.

use super::super::LEFT_BEHIND;
use super::*;

struct Target {
    dir: tempfile::TempDir,
    root: Root,
    staging: Staging,
}

fn place() -> Target {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("w")).unwrap();
    let root = Root::open(&dir.path().join("w")).unwrap();
    let staging = Staging::open(&dir.path().join("tmp"), &root).unwrap();
    Target { dir, root, staging }
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

fn file(bytes: &str) -> Content {
    Content::File(Digest::of(bytes.as_bytes()))
}

#[test]
fn place_never_overwrites_and_leaves_no_temporary() {
    let p = place();
    let target = rel("a/b");
    assert!(p.staging.file(&p.root, &target, b"1", None).unwrap().place(&p.root, &target).unwrap());
    assert!(!p.staging.file(&p.root, &target, b"2", None).unwrap().place(&p.root, &target).unwrap());
    assert_eq!(p.root.content(&target).unwrap(), Some(file("1")));
    assert!(crate::fs::list(&p.dir.path().join("tmp")).unwrap().is_empty());
}

#[test]
fn a_file_from_a_stream_is_whole() {
    let p = place();
    let text = "0123456789".repeat(20_000);
    let streamed = |text: &str| p.staging.file_from(&p.root, &rel("long"), &mut text.as_bytes());
    let staged = streamed(&text).unwrap();
    assert!(staged.place(&p.root, &rel("long")).unwrap());
    assert_eq!(p.root.content(&rel("long")).unwrap(), Some(file(&text)));
    // It is what others' changes are told apart from.
    let staged = streamed("new").unwrap();
    assert!(staged.swap(&p.root, &rel("long"), &file(&text)).unwrap());
    assert_eq!(p.root.content(&rel("long")).unwrap(), Some(file("new")));
}

#[test]
fn swap_takes_the_place_of_the_expected_only() {
    let p = place();
    let target = rel("f");
    std::fs::write(p.root.join(&target), "theirs").unwrap();
    let staged = p.staging.file(&p.root, &target, b"ours", None).unwrap();
    assert!(!staged.swap(&p.root, &target, &file("other")).unwrap());
    assert_eq!(p.root.content(&target).unwrap(), Some(file("theirs")));
    let staged = p.staging.link(&p.root, &target, Path::new("/x")).unwrap();
    assert!(staged.swap(&p.root, &target, &file("theirs")).unwrap());
    assert_eq!(p.root.content(&target).unwrap(), Some(Content::Link("/x".into())));
    assert!(crate::fs::list(&p.dir.path().join("tmp")).unwrap().is_empty());
}

#[test]
fn remove_takes_the_expected_only() {
    let p = place();
    std::fs::write(p.root.join(&rel("f")), "1").unwrap();
    assert!(!p.staging.remove(&p.root, &rel("f"), &file("2")).unwrap());
    assert!(p.root.join(&rel("f")).exists());
    assert!(p.staging.remove(&p.root, &rel("f"), &file("1")).unwrap());
    assert!(!p.root.join(&rel("f")).exists());
}

#[test]
fn copies_a_directory_with_modes_and_links() {
    let p = place();
    let from = p.dir.path().join("from");
    std::fs::create_dir_all(from.join("sub")).unwrap();
    std::fs::write(from.join("sub/x"), "x").unwrap();
    std::fs::set_permissions(from.join("sub/x"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", from.join("l")).unwrap();
    assert!(p.staging.copy(&p.root, &rel("t"), &from).unwrap().place(&p.root, &rel("t")).unwrap());
    let t = p.root.join(&rel("t"));
    assert_eq!(t.join("sub/x").metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(t.join("l").read_link().unwrap(), Path::new("/etc/passwd"));
}

#[test]
fn a_killed_runs_leftovers_are_swept() {
    let p = place();
    std::fs::write(p.dir.path().join("tmp/.shopfloor-tmp-left"), "secret").unwrap();
    Staging::open(&p.dir.path().join("tmp"), &p.root).unwrap();
    assert!(!p.dir.path().join("tmp/.shopfloor-tmp-left").exists());
}

#[test]
fn what_others_are_writing_stays_and_what_is_old_goes() {
    let p = place();
    let path = |name: &str| p.dir.path().join("tmp").join(format!("{RESERVED}{name}"));
    for name in ["young", "old"] {
        std::fs::write(path(name), "half").unwrap();
    }
    let old = std::fs::File::options().write(true).open(path("old")).unwrap();
    let modified = old.metadata().unwrap().modified().unwrap();
    old.set_modified(modified - 2 * LEFT_BEHIND).unwrap();
    Staging::shared(&p.dir.path().join("tmp"), &p.root).unwrap();
    assert!(path("young").exists() && !path("old").exists());
}
