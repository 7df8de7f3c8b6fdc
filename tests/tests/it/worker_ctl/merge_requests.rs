//! worker-ctl: merge requests of GitLab.

use serde_json::json;

use crate::support::forge::Forge;
use crate::support::worker::{adopted_floor, commit, head, tree};
use crate::support::world::World;

/// Of `glab` only a stand-in that records what it gets: there is no package of it.
#[test]
fn merge_requests_go_through_glab() {
    let mut w = World::new();
    let Some(_forge) = Forge::start(&mut w) else { return };
    let floor = adopted_floor(&w);
    w.at(w.home("")).git(&["clone", "-q", "--bare", floor.app.path.to_str().unwrap(), "forge/g/sub/r.git"]);
    floor.app.git(&["remote", "add", "origin", "git@gitlab.com:g/sub/r.git"]);
    w.program(
        "glab",
        "echo \"$*\" >> \"$HOME/glab.log\"\n\
         case \"$1 $2\" in\n\
         'mr list') cat \"$HOME/list\" 2>/dev/null || echo '[]' ;;\n\
         'mr create') [ ! -e \"$HOME/quiet\" ] || exit 0\n\
         echo 'Creating merge request'; echo 'https://gitlab.com/g/sub/r/-/merge_requests/7' ;;\n\
         'api --paginate') cat \"$HOME/threads\" 2>/dev/null || : ;;\n\
         esac",
    );
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds().any_err();
    let at = tree(&floor, "adam");
    commit(&at, "Say one\n\nBecause.", &["a.txt"], "one\n");
    floor.until("adam", "needs_review");
    // Where it names no request, nobody knows whether it made one.
    std::fs::write(w.home("quiet"), "").unwrap();
    let silent = floor.ctl(&["request", "adam", "--yes", "--json"]).exit(4).any_err().json();
    assert_eq!((&silent["pushed"], &silent["created"]), (&json!(true), &json!(false)), "{silent}");
    floor
        .ctl(&["request", "adam", "--yes"])
        .exit(4)
        .err_has("which named no request")
        .err_has("look at the forge first");
    std::fs::remove_file(w.home("quiet")).unwrap();
    let url = "https://gitlab.com/g/sub/r/-/merge_requests/7\n";
    floor.ctl(&["request", "adam", "--yes", "--draft"]).exit(0).any_err().out_has(url);
    let asked = std::fs::read_to_string(w.home("glab.log")).unwrap();
    let created = "mr create --title=Say one --description=Because. --source-branch=feature/adam --target-branch=main --yes \
                   --draft --repo https://gitlab.com/g/sub/r";
    assert_eq!(asked.lines().last(), Some(created));
    let bare = w.at(w.home("forge/g/sub/r.git"));
    assert_eq!(bare.git(&["rev-parse", "feature/adam"]).trim_end(), head(&at));
    let list = json!([{ "iid": 7, "web_url": url.trim_end(), "state": "opened", "source_branch": "feature/adam", "sha": head(&at),
        "target_branch": "main", "source_project_id": 1, "target_project_id": 1 }]);
    std::fs::write(w.home("list"), list.to_string()).unwrap();
    let told = floor.ctl(&["status", "--requests", "--json"]).exit(0).any_err().json()["workers"][0]["request"].clone();
    assert_eq!((&told["number"], &told["state"], &told["ci"]), (&json!(7), &json!("open"), &json!("none")));
    floor.ctl(&["reject", "adam", "--from-request"]).exit(1).err_has("glab");
    // An answer of another kind does not tell that nothing is said.
    std::fs::write(w.home("threads"), "[]\n{\"message\": \"moved\"}").unwrap();
    floor.ctl(&["reject", "adam", "--from-request"]).exit(1).err_has("glab answered something else");
    // What is said comes in pages.
    let note = json!({ "resolvable": true, "resolved": false, "body": "Say two.", "author": { "username": "ada" } });
    std::fs::write(w.home("threads"), format!("[]\n{}", json!([{ "notes": [note] }]))).unwrap();
    floor
        .ctl(&["reject", "adam", "--from-request", "--all-authors"])
        .exit(3)
        .err_has("ada wrote:")
        .err_has("> Say two.");
}
