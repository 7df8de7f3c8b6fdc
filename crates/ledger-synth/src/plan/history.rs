//! Everything that agents ever said, and whether it still counts.

use std::collections::{BTreeSet, HashMap, HashSet};

use shopfloor_core::hash::Digest;

use crate::entry::{CLOSED, Entry, RETRACT};
use crate::instant::EventTime;
use crate::join::Join;
use crate::record::EventRecord;
use crate::section::{Section, SectionName};
use crate::short_id::ShortId;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::view;

/// One thing that a source said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'h> {
    pub section: &'h SectionName<'h>,
    /// The key in a map, the text in a set; none for a register.
    pub key: Option<&'h str>,
    /// None for the removal of a key, and for the items of sets.
    pub value: Option<&'h str>,
    pub source: &'h Source<'h>,
    pub beaten: bool,
    /// Whether it is a member of a set, which nothing replaces.
    pub is_item: bool,
    /// Whether it gives a key a value.
    pub is_pair: bool,
}

impl Statement<'_> {
    /// The id of what it is about: a question (also of its answer) or a key, otherwise the event that said it.
    pub fn id(&self) -> ShortId {
        match &self.key {
            Some(text) if [Section::OpenQuestions, Section::Resolved].iter().any(|is| *self.section == *is) => {
                ShortId::of_question(text)
            }
            Some(key) if self.is_pair => ShortId::of_key(self.section.as_str(), key),
            _ => ShortId::of_event(self.source.id),
        }
    }

    /// The section and the key: `decisions.lexer`.
    pub fn name(&self) -> String {
        match &self.key {
            Some(key) if !self.is_item => format!("{}.{key}", self.section.as_str()),
            _ => self.section.as_str().to_owned(),
        }
    }

    /// When it was said, by whom, and what: the greater one counts.
    fn rank(&self) -> (EventTime, &str, Option<&str>) {
        (self.source.ts, self.source.agent, self.value)
    }
}

/// What `explain` found.
pub enum Explained<'h> {
    /// Newest first.
    Statements(Vec<Statement<'h>>),
    /// The name is the beginning of this many ids.
    Several(usize),
}

/// Everything that was said.
pub struct History<'h> {
    records: &'h [EventRecord],
    snapshots: &'h [&'h Snapshot],
    join: &'h Join<'h>,
    /// The sources of the join, by id.
    sources: Vec<&'h Source<'h>>,
    /// The questions that are open.
    open: HashSet<&'h str>,
}

impl<'h> History<'h> {
    /// The history of events and their join.
    pub fn new(records: &'h [EventRecord], snapshots: &'h [&'h Snapshot], join: &'h Join<'h>) -> History<'h> {
        let mut sources: Vec<_> = join.sources.iter().collect();
        sources.sort_unstable_by_key(|source| source.id);
        let open = view::open_questions(join).iter().map(|told| told.text).collect();
        History { records, snapshots, join, sources, open }
    }

    /// Everything that was said about a section, a key or a text; otherwise about a question, a key or an event whose id
    /// begins so.
    pub fn explain(&self, name: &str) -> Explained<'h> {
        let about = About::new(name);
        let mut named = self.statements(|statement| about.is_it(statement));
        if named.is_empty() {
            let ids = |statement: &Statement<'_>| {
                let ids = [statement.id(), ShortId::of_event(statement.source.id)];
                ids.into_iter().find(|id| id.begins_with(name))
            };
            named = self.statements(|statement| ids(statement).is_some());
            let found: BTreeSet<ShortId> = named.iter().filter_map(ids).collect();
            if found.len() > 1 {
                return Explained::Several(found.len());
            }
        }
        newest_first(&mut named);
        Explained::Statements(named)
    }

    /// Everything that agents disagree on, grouped by what it is about, newest first: keys to which two of them gave
    /// different values, unless the conflict was closed afterwards.
    pub fn conflicts(&self) -> Vec<Statement<'h>> {
        let closed = self.closed();
        let disputed = self.disputed();
        let mut statements =
            self.statements(|statement| !statement.is_item && disputed.contains(&(statement.section, statement.key)));
        let mut all = Vec::new();
        let is_one = |a: &Statement<'_>, b: &Statement<'_>| (&a.section, &a.key) == (&b.section, &b.key);
        for group in statements.chunk_by_mut(is_one) {
            newest_first(group);
            let is_closed = |name: &str| closed.get(name).is_some_and(|closed| !is_reopened(group, *closed));
            if is_disagreement(group) && !is_closed(&group[0].name()) {
                all.extend_from_slice(group);
            }
        }
        all
    }

    /// The sections and keys to which several values were given, except what each agent says for itself. There are few
    /// of them among many statements.
    fn disputed(&self) -> HashSet<(&'h SectionName<'h>, Option<&'h str>)> {
        let mut values = HashMap::new();
        let mut disputed = HashSet::new();
        for Statement { section, key, value, is_item, .. } in self.said() {
            if is_item || matches!(section.section(), Some(Section::Now | Section::Goal | Section::Checkpoints)) {
                continue;
            }
            let name = (section, key);
            if values.get(&name).is_some_and(|first| *first != value) {
                disputed.insert(name);
            } else {
                values.insert(name, value);
            }
        }
        disputed
    }

    /// When each conflict was last closed, and by whom.
    fn closed(&self) -> HashMap<&str, (EventTime, &str)> {
        let section = self.join.sections.get(&SectionName::from(CLOSED));
        let items = section.iter().flat_map(|section| &section.items);
        items.map(|(name, of)| (&**name, (self.join.source(*of).ts, self.join.source(*of).agent))).collect()
    }

    /// Everything wanted that was ever said, each statement once, sorted by section and key.
    fn statements(&self, wanted: impl Fn(&Statement<'h>) -> bool) -> Vec<Statement<'h>> {
        // Counted first, because a list that grows needs three times its memory while it is moved.
        let mut all = Vec::with_capacity(self.said().filter(&wanted).count());
        all.extend(self.said().filter(wanted));
        all.iter_mut().for_each(|statement| statement.beaten = self.is_beaten(statement));
        all.sort_unstable_by(|a, b| {
            (&a.section, &a.key, &a.value, a.source.id).cmp(&(&b.section, &b.key, &b.value, b.source.id))
        });
        all.dedup();
        all
    }

    /// Everything that was ever said, by events and in snapshots. Whether it is beaten is not known yet.
    fn said(&self) -> impl Iterator<Item = Statement<'h>> {
        let events = self.records.iter().flat_map(move |record| {
            let source = self.source(record.id());
            let entries = record.parts().filter(|_| source.is_some()).map(|(_, entries)| entries);
            entries.into_iter().flatten().filter_map(move |entry| self.statement(entry, source?))
        });
        let snapshots = self.snapshots.iter().flat_map(move |snapshot| {
            snapshot.events.said().filter_map(move |(entry, id)| self.statement(entry, self.source(id)?))
        });
        events.chain(snapshots)
    }

    fn source(&self, id: Digest) -> Option<&'h Source<'h>> {
        let at = self.sources.binary_search_by_key(&id, |source| source.id).ok()?;
        Some(self.sources[at])
    }

    fn statement(&self, entry: Entry<'h, &'h str>, source: &'h Source<'h>) -> Option<Statement<'h>> {
        let (is_item, is_pair) = (matches!(entry, Entry::Item { .. }), matches!(entry, Entry::Pair { .. }));
        let known = |section: SectionName<'h>| self.join.sections.get_key_value(&section).map(|(name, _)| name);
        let (section, key, value) = match entry {
            Entry::Item { section, .. } if matches!(section.as_str(), RETRACT | CLOSED) => return None,
            Entry::Text { section, text } => (known(section)?, None, Some(text)),
            Entry::Item { section, text } => (known(section)?, Some(text), None),
            Entry::Pair { section, key, value } => (known(section)?, Some(key), value),
            Entry::Checkpoint(checkpoint) => {
                (&SectionName::CHECKPOINTS, Some(checkpoint.phase), Some(checkpoint.status))
            }
        };
        Some(Statement { section, key, value, source, beaten: false, is_item, is_pair })
    }

    /// Whether something newer counts instead.
    fn is_beaten(&self, statement: &Statement<'_>) -> bool {
        let Statement { section, key, value, source, is_item, is_pair, .. } = statement;
        let is_it = |of: u32| self.join.source(of).id == source.id;
        let held = self.join.sections.get(*section);
        match key {
            None => !held.and_then(|held| held.text).is_some_and(|(held, of)| Some(held) == *value && is_it(of)),
            // A later `resolved` beats a question. Nothing beats another item.
            Some(text) if *is_item => **section == Section::OpenQuestions && !self.open.contains(text),
            Some(key) if *is_pair => {
                let pairs = held.map_or(&[][..], |section| &section.pairs);
                let at = pairs.binary_search_by(|(own, _)| own.cmp(key)).ok();
                !at.map(|at| &pairs[at]).is_some_and(|(_, (held, of))| held == value && is_it(*of))
            }
            // Nothing beats a checkpoint.
            Some(_) => false,
        }
    }
}

/// Whether two agents gave different values: then two values and two agents are enough, because one of the agents gave
/// another value than some other agent.
fn is_disagreement(group: &[Statement<'_>]) -> bool {
    let values: BTreeSet<_> = group.iter().map(|statement| &statement.value).collect();
    let agents: BTreeSet<_> = group.iter().map(|statement| &statement.source.agent).collect();
    values.len() >= 2 && agents.len() >= 2
}

/// Whether a value other than the one that counted at that time came later.
fn is_reopened(group: &[Statement<'_>], closed: (EventTime, &str)) -> bool {
    let is_later = |statement: &&Statement<'_>| (statement.source.ts, statement.source.agent) > closed;
    let (later, earlier): (Vec<_>, Vec<_>) = group.iter().partition(is_later);
    let counted = earlier.iter().max_by_key(|statement| statement.rank());
    later.iter().any(|statement| counted.is_none_or(|counted| counted.value != statement.value))
}

/// What a name may mean: a section, a key, or both with a dot between them.
struct About<'n> {
    name: &'n str,
    section: SectionName<'n>,
    path: Option<(SectionName<'n>, &'n str)>,
}

impl<'n> About<'n> {
    fn new(name: &'n str) -> About<'n> {
        let section = |name: &'n str| SectionName::from_spelling(name.into());
        let path = name.split_once('.').map(|(name, key)| (section(name), key));
        About { name, section: section(name), path }
    }

    fn is_it(&self, statement: &Statement<'_>) -> bool {
        let is_path =
            |(section, key): &(SectionName<'_>, &str)| statement.key == Some(key) && statement.section == section;
        statement.key == Some(self.name)
            || *statement.section == self.section
            || self.path.as_ref().is_some_and(is_path)
    }
}

/// What counts first, then the newest first.
fn newest_first(statements: &mut [Statement<'_>]) {
    statements.sort_unstable_by(|a, b| {
        let key = |one: &Statement<'_>| (one.source.id, one.beaten);
        (a.beaten.cmp(&b.beaten))
            .then_with(|| b.rank().cmp(&a.rank()))
            .then_with(|| a.key.cmp(&b.key))
            .then_with(|| key(a).cmp(&key(b)))
    });
}
