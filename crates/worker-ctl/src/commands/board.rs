//! The rows of the board that `status --watch` shows on a terminal.

use shopfloor_core::board::{BoardRow, Need, Standing};

use crate::attention::since;
use crate::worker::{Activity, Session, Worker};

/// The row of a worker.
pub fn row(worker: &Worker, need: Option<Need>) -> BoardRow {
    let standing = match (need, worker.status()) {
        (Some(need), _) => Standing::Needs(need),
        (None, "offline") => Standing::Offline,
        (None, "idle") => Standing::Idle,
        _ if worker.program.is_in_doubt => Standing::InDoubt,
        _ => Standing::Works,
    };
    let does = Some(worker.reported.activity).filter(|activity| *activity != Activity::Unknown);
    BoardRow {
        name: worker.name.clone(),
        state: worker.status().to_owned(),
        does: does.map_or(String::new(), |activity| activity.word().to_owned()),
        since: Some(since(worker)),
        what: what(standing, worker),
        standing,
    }
}

/// What a person should know first: what there is to do, else the task.
fn what(standing: Standing, worker: &Worker) -> String {
    let name = &worker.name;
    let prompt = worker.work.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    match standing {
        Standing::Needs(Need::Asks) => {
            format!("answer {name}: {}", worker.reported.activity_text.as_deref().unwrap_or("a question"))
        }
        Standing::Needs(Need::Fault) => {
            let fault = worker.program.fault.as_ref().map(ToString::to_string).unwrap_or_default();
            let hint = if worker.program.session == Session::Up { "attach" } else { "peek" };
            format!("{hint} {name}: {fault}")
        }
        Standing::Needs(Need::Review) => format!("review {name}: {prompt}"),
        Standing::Needs(Need::Fresh | Need::Resume) => format!("resume {name}: {prompt}"),
        _ => match worker.notes.first() {
            Some(note) => note.to_string(),
            None => prompt.to_owned(),
        },
    }
}
