//! Tests of the sweatfile format.

use super::*;
use crate::setup_step::SetupStep;

fn problems(text: &str) -> String {
    let parsed = parse(text.as_bytes());
    parsed.problems.iter().map(|r| format!("{}: {}\n", r.at, r.text)).collect()
}

fn dest(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

#[test]
fn the_misplaced_array_of_the_designs_format_example_is_hoisted() {
    let text = "git_excludes = [\".claude/\", \".direnv/\"]\n[env]\nEDITOR = \"nvim\"\n[files.envrc]\nsource = \"~/e\"\n\
                [files.tool-versions]\ncontent = \"\"\"\ngolang 1.23.0\n\"\"\"\nsetup = [\n  \"direnv allow\",\n]\n";
    let parsed = parse(text.as_bytes());
    assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
    assert_eq!(parsed.sweatfile.setup, Some(vec![SetupStep::plain("direnv allow")]));
    assert_eq!(parsed.hoisted[0].at.to_string(), "10:1");
    let content = Body::Content { text: "golang 1.23.0\n".into(), template: false };
    assert_eq!(parsed.sweatfile.files[&dest(".tool-versions")].body, content);
}

#[test]
fn absent_and_empty_differ() {
    assert_eq!(parse(b"").sweatfile.setup, None);
    assert_eq!(parse(b"setup = []").sweatfile.setup, Some(vec![]));
    assert_eq!(parse(b"[env]\nsetup = []").sweatfile.setup, Some(vec![]));
    assert_eq!(parse(b"[files]\nsetup = [\"x\"]").sweatfile.setup, Some(vec![SetupStep::plain("x")]));
}

#[test]
fn source_content_and_copy_exclude_each_other() {
    let body =
        |text: &str| parse(format!("[files.x]\n{text}").as_bytes()).sweatfile.files.remove(&dest(".x")).map(|e| e.body);
    let empty = Body::Content { text: String::new(), template: false };
    assert_eq!(body("source = \"\""), Some(Body::Clear));
    assert_eq!(body("content = \"\""), Some(empty));
    assert_eq!(body("source = \"\"\ncontent = \"\""), Some(Body::Clear));
    assert_eq!(body("source = \"/a\"\ncontent = \"\""), Some(Body::Source("/a".into())));
    assert_eq!(body("source = \"\"\ncontent = \"c\""), Some(Body::Content { text: "c".into(), template: false }));
    assert_eq!(body("source = \"/a\"\ncontent = \"c\""), None);
    assert_eq!(body(""), None);
}

#[test]
fn every_problem_is_reported_with_its_position() {
    let text = r#"
git_excludes = [1, ""]
setup = "x"
template = "yes"
[env]
PORT = 3000
"a-b" = "x"
C = "a\rb"
[files.settings.json]
source = "/x"
[files.".envrc"]
source = "/x"
[files."../up"]
source = "/x"
[files."/etc"]
source = "/x"
[files."git/hooks/x"]
source = "/x"
[files.sweatshop-env]
content = "x"
[files.a]
sorce = "/x"
[files."b/c"]
source = "~root/x"
"#;
    insta::assert_snapshot!(problems(text), @r#"
    2:17: `git_excludes` must hold strings only, not integer
    2:20: an exclude pattern must be one line that is not empty
    3:1: `setup` must be an array of strings and tables, not a string
    4:1: `template` must be true or false, not a string
    6:1: `PORT` in [env] must be a string, not an integer; write `PORT = "3000"`
    7:1: `a-b` is not a variable name; it must match [A-Za-z_][A-Za-z0-9_]*
    8:1: the value of `C` contains a NUL or a carriage return
    9:17: files entry `settings`: unknown key `json`; a key with a dot needs quotes: `[files."settings.json"]`
    11:8: files entry `.envrc`: drop the leading dot, it is added: `envrc`
    13:8: files entry `../up`: the path must not have `.` or `..` components
    15:8: files entry `/etc`: the path is absolute
    17:8: files entry `git/hooks/x`: it would lie in git's own directory
    19:8: files entry `sweatshop-env`: `.sweatshop-env` is written from [env]; the name is reserved
    22:1: files entry `a`: unknown key `sorce`; did you mean `source`?
    24:1: files entry `b/c`: `source`: only `~` and `~/path` are expanded, not `~root/x`
    "#);
}

#[test]
fn two_places_and_prefixes_are_problems() {
    assert!(problems("setup = []\n[env]\nsetup = []").contains("3:1: `setup` is given in two places"));
    let nested = "[files.claude]\nsource=\"/x\"\n[files.\"claude/x\"]\ncontent=\"\"";
    assert!(problems(nested).contains("one lies inside the other"), "{}", problems(nested));
    let cleared = "[files.claude]\nsource=\"\"\n[files.\"claude/x\"]\ncontent=\"\"";
    assert_eq!(problems(cleared), "");
}

#[test]
fn an_unknown_key_is_a_warning_with_the_nearest_name() {
    let parsed = parse(b"setpu = []\nzzz = 1\n");
    assert!(parsed.problems.is_empty());
    assert_eq!(parsed.warnings[0].text, "unknown key `setpu` is ignored; did you mean `setup`?");
    assert_eq!(parsed.warnings[1].at.to_string(), "2:1");
}

#[test]
fn a_byte_order_mark_and_crlf_are_fine() {
    let parsed = parse("\u{feff}setup = [\"a\"]\r\n[env]\r\nA = \"1\"\r\n".as_bytes());
    assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
    assert_eq!(parsed.sweatfile.env["A"], "1");
}
