//! What to do at each destination, from what is wished, what is there and what apply placed before.

use std::path::PathBuf;

use shopfloor_core::fs::{Content, Found};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::{FileStep, Make, Work};
use crate::facts::{Facts, Original};
use crate::layer::{Merged, Wish};
use crate::record::Placed;
use crate::report::Action;
use crate::sweatfile::Body;
use crate::template;

/// A step for every destination that is wished, was cleared, or comes from `.worktreeinclude`.
pub fn plan(merged: &Merged, facts: &Facts) -> Vec<FileStep> {
    let wished = merged.files.iter().map(|(path, wish)| step(path, wish, merged, facts));
    let cleared = merged.cleared.iter().filter_map(|(path, by)| {
        let placed = facts.record.files.get(path)?;
        if facts.here.get(path)?.found == Found::Missing {
            let (action, why) = (Action::Unchanged, "cleared".to_owned());
            return Some(FileStep { path: path.clone(), action, why, work: Work::Forget, placed: None, drifts: false });
        }
        let content = facts.here.get(path)?.content.clone()?;
        if placed.layer == Some(*by) || !placed.is(&content) {
            return None;
        }
        let why = format!("the {by} sweatfile clears it; what apply had placed is taken away");
        let work = Work::Take(content);
        Some(FileStep { path: path.clone(), action: Action::Skipped, why, work, placed: None, drifts: true })
    });
    let included =
        facts.included.iter().filter(|(path, _)| !merged.files.contains_key(*path)).map(|(path, (from, content))| {
            let placed =
                Placed { layer: None, content: content.clone(), copied_from: Some(from.clone()), replaces: None };
            FileStep {
                path: path.clone(),
                action: Action::Created,
                why: "copied as .worktreeinclude asks".into(),
                work: Work::Create(Make::Copy(from.clone())),
                placed: Some(placed),
                drifts: true,
            }
        });
    wished.chain(cleared).chain(included).collect()
}

/// What a wish comes to, once its original was looked at.
struct Target {
    make: Make,
    content: Content,
    copied_from: Option<PathBuf>,
    how: String,
}

fn target(path: &RelPath, wish: &Wish, facts: &Facts) -> Result<Target, String> {
    let original = || match facts.originals.get(path) {
        Some(Original::There(path, content)) => Ok((path.clone(), content.clone())),
        Some(Original::Missing(path)) => Err(format!("the source {} does not exist", path.display())),
        Some(Original::Unreadable(path, why)) => Err(format!("cannot read the source {}: {why}", path.display())),
        None => Err("its source was not looked at".to_owned()),
    };
    Ok(match &wish.body {
        Body::Clear => return Err("cleared".to_owned()),
        Body::Source(_) => {
            let (from, _) = original()?;
            let how = format!("link to {}", from.display());
            Target { content: Content::Link(from.clone()), make: Make::Link(from), copied_from: None, how }
        }
        Body::Copy(_) => {
            let (from, content) = original()?;
            let how = format!("copy of {}", from.display());
            Target { content, make: Make::Copy(from.clone()), copied_from: Some(from), how }
        }
        Body::Content { text, template } => {
            let text = if *template { template::expand(text, &facts.template) } else { text.clone() };
            let content = Content::File(Digest::of(text.as_bytes()));
            Target { content, make: Make::Write(text.into_bytes()), copied_from: None, how: "written".into() }
        }
    })
}

/// What the wish for a destination says should lie there, where its original can be read.
pub fn says(path: &RelPath, wish: &Wish, facts: &Facts) -> Option<Content> {
    target(path, wish, facts).ok().map(|target| target.content)
}

fn step(path: &RelPath, wish: &Wish, merged: &Merged, facts: &Facts) -> FileStep {
    let here = facts.here.get(path).cloned().unwrap_or_default();
    let before = facts.record.files.get(path);
    let build =
        |action, why: String, work, placed, drifts| FileStep { path: path.clone(), action, why, work, placed, drifts };
    let keep = |why: &str, drifts| build(Action::Kept, why.to_owned(), Work::Nothing, before.cloned(), drifts);
    let fail = |why: String| build(Action::Failed, why, Work::Nothing, before.cloned(), true);

    if let Some(problem) = here.problem {
        return fail(problem);
    }
    if let Found::Blocked(at) = &here.found {
        return fail(format!("{at} is a link or no directory, and nothing is placed through it"));
    }
    let target = target(path, wish, facts);
    let placed = |target: &Target| {
        let Target { content, copied_from, .. } = target;
        Some(Placed {
            layer: Some(wish.layer),
            content: content.clone(),
            copied_from: copied_from.clone(),
            replaces: None,
        })
    };
    if here.found == Found::Missing {
        return match target {
            Ok(target) => {
                let placed = placed(&target);
                build(Action::Created, target.how, Work::Create(target.make), placed, true)
            }
            Err(why) => fail(why),
        };
    }
    let Some(before) = before else {
        return keep("it was there before", false);
    };
    let as_wished = target.as_ref().is_ok_and(|t| here.content.as_ref() == Some(&t.content));
    let untouched = here.content.as_ref().filter(|content| before.is(content)).cloned();
    match (target, untouched) {
        (Ok(target), _) if as_wished => {
            build(Action::Unchanged, target.how.clone(), Work::Nothing, placed(&target), false)
        }
        (_, None) => keep("changed content: edited since it was placed", true),
        (_, Some(_)) if merged.left_out && before.layer > Some(wish.layer) => {
            keep("it was placed for a sweatfile that is not approved as it is now", false)
        }
        (Ok(target), Some(content))
            if before.layer != Some(wish.layer) || before.replaces.as_ref() == Some(&content) =>
        {
            let placed = placed(&target);
            let why = format!("{}, now that the {} sweatfile says so", target.how, wish.layer);
            build(Action::Created, why, Work::Swap(content, target.make), placed, true)
        }
        // Created once, never updated.
        (Ok(_), _) => {
            keep("changed content: the sweatfile says otherwise by now; remove the file and apply again", true)
        }
        (Err(why), _) => fail(why),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use shopfloor_core::text::Position;

    use super::*;
    use crate::facts::Here;
    use crate::layer::Name;
    use crate::record::Record;

    fn rel(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    fn wish(layer: Name, text: &str) -> Wish {
        let body = Body::Content { text: text.into(), template: false };
        Wish { body, layer, file: "/s".into(), at: Position { line: 1, column: 1 }, counts: true }
    }

    fn content(text: &str) -> Content {
        Content::File(Digest::of(text.as_bytes()))
    }

    /// The step at `.x`, wished as `wished` by the repo, when `here` lies there and `before` was placed.
    fn decide(wished: &str, here: Option<&str>, before: Option<(Name, &str)>) -> FileStep {
        let mut facts = Facts::default();
        let found = if here.is_some() { Found::File(0o644) } else { Found::Missing };
        facts.here.insert(rel(".x"), Here { found, content: here.map(content), problem: None });
        let files = before.map(|(layer, text)| {
            (rel(".x"), Placed { layer: Some(layer), content: content(text), copied_from: None, replaces: None })
        });
        facts.record = Record { files: files.into_iter().collect(), ..Record::default() };
        let merged = Merged { files: BTreeMap::from([(rel(".x"), wish(Name::Repo, wished))]), ..Merged::default() };
        plan(&merged, &facts).remove(0)
    }

    #[test]
    fn every_case_of_wished_here_and_before() {
        let show = |s: FileStep| {
            let work = match s.work {
                Work::Nothing => "nothing",
                Work::Create(_) => "create",
                Work::Swap(..) => "swap",
                Work::Take(_) | Work::Forget => "take",
            };
            format!("{} {work} drift={}", s.action, s.drifts)
        };
        let (area, repo) = (Name::Area, Name::Repo);
        assert_eq!(show(decide("a", None, None)), "created create drift=true");
        assert_eq!(show(decide("a", None, Some((repo, "a")))), "created create drift=true");
        assert_eq!(show(decide("a", Some("a"), None)), "kept nothing drift=false");
        assert_eq!(show(decide("a", Some("b"), None)), "kept nothing drift=false");
        assert_eq!(show(decide("a", Some("a"), Some((repo, "a")))), "unchanged nothing drift=false");
        assert_eq!(show(decide("a", Some("b"), Some((repo, "b")))), "kept nothing drift=true");
        assert_eq!(show(decide("a", Some("c"), Some((repo, "b")))), "kept nothing drift=true");
        assert_eq!(show(decide("a", Some("b"), Some((area, "b")))), "created swap drift=true");
        assert_eq!(show(decide("a", Some("c"), Some((area, "b")))), "kept nothing drift=true");
        assert_eq!(show(decide("a", Some("a"), Some((area, "a")))), "unchanged nothing drift=false");
    }

    #[test]
    fn a_clear_takes_away_only_what_another_layer_placed_and_nobody_changed() {
        let cleared = |here: &str, before: (Name, &str)| {
            let mut facts = Facts::default();
            facts
                .here
                .insert(rel(".x"), Here { found: Found::File(0o644), content: Some(content(here)), problem: None });
            let placed =
                Placed { layer: Some(before.0), content: content(before.1), copied_from: None, replaces: None };
            facts.record.files.insert(rel(".x"), placed);
            let merged = Merged { cleared: BTreeMap::from([(rel(".x"), Name::Repo)]), ..Merged::default() };
            plan(&merged, &facts).len()
        };
        assert_eq!(cleared("a", (Name::Area, "a")), 1);
        assert_eq!(cleared("b", (Name::Area, "a")), 0);
        assert_eq!(cleared("a", (Name::Repo, "a")), 0);
    }
}
