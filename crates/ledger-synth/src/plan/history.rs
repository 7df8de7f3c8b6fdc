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
        id_of(self.section, self.key, self.is_pair).unwrap_or(ShortId::of_event(self.source.id))
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

/// The id of a question or a key.
fn id_of(section: &SectionName<'_>, key: Option<&str>, is_pair: bool) -> Option<ShortId> {
    match section.section() {
        Some(Section::OpenQuestions | Section::Resolved) => key.map(ShortId::of_question),
        _ => key.filter(|_| is_pair).map(|key| ShortId::of_key(section.as_str(), key)),
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
    /// Those that count, and those of the archive.
    records: [&'h [EventRecord]; 2],
    snapshots: &'h [&'h Snapshot],
    join: &'h Join<'h>,
    /// The sections that only archived events have.
    archived: &'h [SectionName<'h>],
    /// The sources of the join, by id, each with the last of the records that have that id.
    sources: Vec<(&'h Source<'h>, Option<&'h EventRecord>)>,
    /// The questions that are open.
    open: HashSet<&'h str>,
}

impl<'h> History<'h> {
    /// The history of events and their join, and of archived events, which count only as snapshots say them.
    pub fn new(
        records: [&'h [EventRecord]; 2],
        snapshots: &'h [&'h Snapshot],
        join: &'h Join<'h>,
        archived: &'h [SectionName<'h>],
    ) -> History<'h> {
        let mut sources: Vec<_> = join.sources.iter().map(|source| (source, None)).collect();
        sources.sort_unstable_by_key(|(source, _)| source.id);
        let open = view::open_questions(join).iter().map(|told| told.text).collect();
        let mut history = History { records, snapshots, join, archived, sources, open };
        for record in records.into_iter().flatten() {
            if let Some(at) = history.position(record.id()) {
                history.sources[at].1 = Some(record);
            }
        }
        history
    }

    /// Everything that was said about a section, a key or a text; otherwise about a question, a key or an event whose id
    /// begins so.
    pub fn explain(&self, about: &About<'_>) -> Explained<'h> {
        let mut named = self.statements(|statement| about.is_it(statement.section, statement.key));
        if named.is_empty() {
            let ids = |statement: &Statement<'_>| {
                let ids = [statement.id(), ShortId::of_event(statement.source.id)];
                ids.into_iter().find(|id| id.begins_with(about.name))
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
        let is_one = |a: &Statement<'_>, b: &Statement<'_>| (&a.section, &a.key) == (&b.section, &b.key);
        // In place, because there may be very many of them.
        let mut keeps = Vec::with_capacity(statements.len());
        for group in statements.chunk_by_mut(is_one) {
            newest_first(group);
            let is_closed = |name: &str| closed.get(name).is_some_and(|closed| !is_reopened(group, *closed));
            let is_open = is_disagreement(group) && !is_closed(&group[0].name());
            keeps.extend(std::iter::repeat_n(is_open, group.len()));
        }
        let mut keeps = keeps.into_iter();
        statements.retain(|_| keeps.next().unwrap_or(false));
        statements
    }

    /// The sections and keys to which several values were given, except what each agent says for itself. There are few
    /// of them among many statements.
    fn disputed(&self) -> HashSet<(&'h SectionName<'h>, Option<&'h str>)> {
        let mut values = HashMap::new();
        let mut disputed = HashSet::new();
        for Statement { section, key, value, is_item, .. } in self.said() {
            if is_item || !may_be_disputed(section) {
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
        let events = self.records.into_iter().flatten().flat_map(move |record| {
            let source = self.position(record.id()).map(|at| self.sources[at].0);
            let entries = record.parts().filter(|_| source.is_some()).map(|(_, entries)| entries);
            entries.into_iter().flatten().filter_map(move |entry| self.statement(entry, source?))
        });
        let snapshots = self.snapshots.iter().flat_map(move |snapshot| {
            snapshot.events.said().filter_map(move |(entry, id)| {
                let (source, record) = self.sources[self.position(id)?];
                // Most of it is said by the events themselves, if they are in the archive.
                let mut said = record.and_then(EventRecord::parts).into_iter().flat_map(|(_, entries)| entries);
                if said.any(|said| said == entry) { None } else { self.statement(entry, source) }
            })
        });
        events.chain(snapshots)
    }

    fn position(&self, id: Digest) -> Option<usize> {
        self.sources.binary_search_by_key(&id, |(source, _)| source.id).ok()
    }

    fn statement(&self, entry: Entry<'h, &'h str>, source: &'h Source<'h>) -> Option<Statement<'h>> {
        let (is_item, is_pair) = (matches!(entry, Entry::Item { .. }), matches!(entry, Entry::Pair { .. }));
        let archived = |section: &SectionName<'h>| self.archived.iter().find(|name| *name == section);
        let known = |section: SectionName<'h>| {
            let held = self.join.sections.get_key_value(&section).map(|(name, _)| name);
            held.or_else(|| archived(&section))
        };
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

/// The sections that archived events have and the join has not.
pub fn archived_sections<'h>(archived: &'h [EventRecord], join: &Join<'_>) -> Vec<SectionName<'h>> {
    let mut names = Vec::new();
    for (_, entries) in archived.iter().filter_map(EventRecord::parts) {
        for entry in entries {
            let (Entry::Text { section: name, .. }
            | Entry::Item { section: name, .. }
            | Entry::Pair { section: name, .. }) = entry
            else {
                continue;
            };
            if !join.sections.contains_key(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// What each agent says for itself is no conflict.
fn may_be_disputed(section: &SectionName<'_>) -> bool {
    !matches!(section.section(), Some(Section::Now | Section::Goal | Section::Checkpoints))
}

/// Whether `conflicts` needs to know an entry.
pub fn concerns_conflicts(entry: &Entry<'_, &str>) -> bool {
    !matches!(entry, Entry::Item { .. }) && may_be_disputed(&entry.section())
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

/// What a name may mean: a section, a key, both with a dot between them, or the beginning of an id.
pub struct About<'n> {
    name: &'n str,
    section: SectionName<'n>,
    path: Option<(SectionName<'n>, &'n str)>,
    may_be_id: bool,
}

impl<'n> About<'n> {
    pub fn new(name: &'n str) -> About<'n> {
        let section = |name: &'n str| SectionName::from_spelling(name.into());
        let path = name.split_once('.').map(|(name, key)| (section(name), key));
        About { name, section: section(name), path, may_be_id: ShortId::may_begin_with(name) }
    }

    /// Whether `explain` needs to know what an event says.
    pub fn concerns(&self, event: &Digest, entry: &Entry<'_, &str>) -> bool {
        let (key, is_pair) = match entry {
            Entry::Text { .. } => (None, false),
            Entry::Item { text, .. } => (Some(*text), false),
            Entry::Pair { key, .. } => (Some(*key), true),
            Entry::Checkpoint(checkpoint) => (Some(checkpoint.phase), false),
        };
        let section = entry.section();
        let is_named = |id: ShortId| id.begins_with(self.name);
        let is_id = || is_named(ShortId::of_event(*event)) || id_of(&section, key, is_pair).is_some_and(is_named);
        self.is_it(&section, key) || (self.may_be_id && is_id())
    }

    fn is_it(&self, section: &SectionName<'_>, key: Option<&str>) -> bool {
        let is_path = |(own, named): &(SectionName<'_>, &str)| key == Some(*named) && section == own;
        key == Some(self.name) || *section == self.section || self.path.as_ref().is_some_and(is_path)
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
