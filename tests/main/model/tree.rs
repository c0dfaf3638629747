//! The model: what is where in the vault, kept in memory beside the real files.

use std::cell::RefCell;
use std::rc::Rc;

use super::op::{Change, Place};
use super::text::{Text, mark};
use crate::support::prelude::*;

/// A file, whose names share what it holds; or a symbolic link.
#[derive(Debug, Clone)]
enum Node {
    File(Rc<RefCell<Text>>),
    Link,
}

/// What lies at a path (at the empty rest) or below it.
type Item = BTreeMap<String, Node>;

/// The vault's files on disk and in memory.
pub struct Tree {
    root: PathBuf,
    outside: TempDir,
    nodes: Item,
    away: Vec<(PathBuf, Item)>,
    marks: usize,
    /// Whether something changed that no event names: a file by another of its names.
    pub unseen: bool,
}

impl Tree {
    pub fn new(root: PathBuf) -> Self {
        // Beside the vault, so that files can be moved from one to the other.
        let outside = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
        Self { root, outside, nodes: Item::new(), away: Vec::new(), marks: 0, unseen: false }
    }

    /// Every word that was ever made to be found in one note and its copies.
    pub fn marks(&self) -> impl Iterator<Item = String> {
        (0..self.marks).map(mark)
    }

    /// The notes that can be read, by path.
    pub fn notes(&self) -> BTreeMap<&str, Text> {
        let files = self.nodes.iter().filter_map(as_file).filter(|(path, _)| is_note(path));
        files.map(|(path, text)| (path.as_str(), text.borrow().clone())).filter(|(_, text)| !text.garbled).collect()
    }

    /// The paths of what `vault status` has to name.
    pub fn problems(&self) -> BTreeSet<&str> {
        let is_problem = |node: &Node| match node {
            Node::File(text) => text.borrow().garbled || text.borrow().is_broken(),
            Node::Link => true,
        };
        let named = self.nodes.iter().filter(|(path, node)| is_note(path) && is_problem(node));
        named.map(|(path, _)| path.as_str()).collect()
    }

    /// Whether there is a link that is not named as a note is.
    pub fn is_other_link(&self, path: &str) -> bool {
        !is_note(path) && matches!(self.nodes.get(path), Some(Node::Link))
    }

    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(to, front, blocks) => {
                let blocks = blocks.iter().map(|block| self.marked(block)).collect();
                self.write(&to.path(), Text { front, blocks, garbled: false });
            }
            Change::Insert(note, at, block) => {
                let block = self.marked(block);
                self.edit(*note, |text| text.blocks.insert(at % (text.blocks.len() + 1), block));
            }
            Change::Delete(note, at) => self.edit(*note, |text| {
                if !text.blocks.is_empty() {
                    text.blocks.remove(at % text.blocks.len());
                }
            }),
            Change::Replace(note, at, block) => self.replace(*note, *at, block),
            Change::Front(note, front) => self.edit(*note, |text| text.front = *front),
            Change::Sneak(note) => self.sneak(*note),
            Change::Touch(note, seconds) => self.touch(*note, *seconds),
            Change::Garble(note) => self.edit(*note, |text| text.garbled = true),
            Change::Move(node, to) => self.relocate(*node, *to),
            Change::MoveOut(node) => self.move_out(*node),
            Change::MoveIn(item, to) => self.move_in(*item, *to),
            Change::Copy(note, to) => {
                // Taken before it is written: it may be copied to itself, or to another of its names.
                let copied = self.file(*note).map(|(_, text)| text.borrow().clone());
                if let Some(text) = copied {
                    self.write(&to.path(), text);
                }
            }
            Change::HardLink(note, to) => self.hard_link(*note, *to),
            Change::SymLink(node, to) => self.symlink(*node, *to),
            Change::Remove(node) => {
                if let Some(path) = self.path(*node) {
                    self.clear(&path);
                }
            }
        }
    }

    fn marked(&mut self, block: &str) -> String {
        self.marks += 1;
        format!("{block} {}", mark(self.marks - 1))
    }

    fn on_disk(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A file or folder, by number.
    fn path(&self, number: usize) -> Option<String> {
        let mut paths: BTreeSet<&str> = BTreeSet::new();
        for path in self.nodes.keys() {
            paths.insert(path);
            paths.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        }
        paths.iter().nth(number % paths.len().max(1)).map(|path| (*path).to_owned())
    }

    /// A file, by number.
    fn file(&self, number: usize) -> Option<(String, Rc<RefCell<Text>>)> {
        let files: Vec<(&String, &Rc<RefCell<Text>>)> = self.nodes.iter().filter_map(as_file).collect();
        files.get(number % files.len().max(1)).map(|(path, text)| ((*path).clone(), Rc::clone(text)))
    }

    /// Takes what is at or below a path out of the model.
    fn detach(&mut self, path: &str) -> Item {
        let below = format!("{path}/");
        let gone: Vec<String> =
            self.nodes.keys().filter(|node| *node == path || node.starts_with(&below)).cloned().collect();
        gone.into_iter().map(|node| (node[path.len()..].to_owned(), self.nodes.remove(&node).unwrap())).collect()
    }

    fn attach(&mut self, path: &str, item: Item) {
        self.nodes.extend(item.into_iter().map(|(rest, node)| (format!("{path}{rest}"), node)));
    }

    /// Deletes what is at a path, if anything is.
    fn clear(&mut self, path: &str) {
        let on_disk = self.on_disk(path);
        match on_disk.symlink_metadata() {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(on_disk).unwrap(),
            Ok(_) => fs::remove_file(on_disk).unwrap(),
            Err(_) => {}
        }
        self.detach(path);
    }

    /// Makes the folders around a path, in whose place whatever was there is gone.
    fn make_way(&mut self, path: &str) {
        let folders: Vec<String> = path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect();
        for folder in &folders {
            if !is_folder(&self.on_disk(folder)) {
                self.clear(folder);
            }
        }
        fs::create_dir_all(self.on_disk(path).parent().unwrap()).unwrap();
    }

    fn write(&mut self, path: &str, text: Text) {
        self.make_way(path);
        match self.nodes.get(path) {
            Some(Node::File(old)) => *Rc::clone(old).borrow_mut() = text,
            _ => {
                self.clear(path);
                self.nodes.insert(path.to_owned(), Node::File(Rc::new(RefCell::new(text))));
            }
        }
        self.save(path);
    }

    /// Writes a file in place, as the model has it.
    fn save(&mut self, path: &str) {
        let Node::File(text) = &self.nodes[path] else { unreachable!("links are not written") };
        self.unseen |= Rc::strong_count(text) > 1;
        fs::write(self.on_disk(path), text.borrow().bytes()).unwrap();
    }

    fn edit(&mut self, note: usize, change: impl FnOnce(&mut Text)) {
        let Some((path, text)) = self.file(note) else { return };
        text.borrow_mut().garbled = false;
        change(&mut text.borrow_mut());
        drop(text);
        self.save(&path);
    }

    fn replace(&mut self, note: usize, at: usize, block: &str) {
        let Some((path, text)) = self.file(note) else { return };
        let mut text = text.borrow().clone();
        let block = self.marked(block);
        match text.blocks.len() {
            0 => text.blocks.push(block),
            blocks => text.blocks[at % blocks] = block,
        }
        text.garbled = false;
        let beside = self.on_disk(&path).with_file_name(".saving");
        fs::write(&beside, text.bytes()).unwrap();
        fs::rename(beside, self.on_disk(&path)).unwrap();
        self.nodes.insert(path, Node::File(Rc::new(RefCell::new(text))));
    }

    fn sneak(&mut self, note: usize) {
        let Some((path, text)) = self.file(note) else { return };
        let Some(old) = text.borrow().marks().next().map(str::to_owned) else { return };
        self.marks += 1;
        let new = mark(self.marks - 1);
        text.borrow_mut().blocks.iter_mut().for_each(|block| *block = block.replace(&old, &new));
        drop(text);
        let time = self.on_disk(&path).metadata().unwrap().modified().unwrap();
        self.save(&path);
        set_time(self.on_disk(&path), time);
    }

    fn touch(&mut self, note: usize, seconds: i64) {
        let Some((path, text)) = self.file(note) else { return };
        let since = Duration::from_secs(seconds.unsigned_abs());
        let epoch = SystemTime::UNIX_EPOCH;
        set_time(self.on_disk(&path), if seconds < 0 { epoch - since } else { epoch + since });
        self.unseen |= Rc::strong_count(&text) > 2;
    }

    fn relocate(&mut self, node: usize, to: Place) {
        let (Some(from), to) = (self.path(node), to.path()) else { return };
        let same = match (self.nodes.get(&from), self.nodes.get(&to)) {
            // The system takes two names of one file for the same place.
            (Some(Node::File(one)), Some(Node::File(other))) => Rc::ptr_eq(one, other),
            _ => from == to,
        };
        if same || to.starts_with(&format!("{from}/")) || from.starts_with(&format!("{to}/")) {
            return;
        }
        self.make_way(&to);
        let (old, new) = (self.on_disk(&from), self.on_disk(&to));
        if is_folder(&old) || is_folder(&new) {
            self.clear(&to);
        }
        fs::rename(old, new).unwrap();
        let item = self.detach(&from);
        self.detach(&to);
        self.attach(&to, item);
    }

    fn move_out(&mut self, node: usize) {
        let Some(path) = self.path(node) else { return };
        let out = self.outside.path().join(self.away.len().to_string());
        fs::rename(self.on_disk(&path), &out).unwrap();
        let item = self.detach(&path);
        self.away.push((out, item));
    }

    fn move_in(&mut self, item: usize, to: Place) {
        if self.away.is_empty() {
            return;
        }
        // The number stays taken, so that no two have the same.
        let at = item % self.away.len();
        let (out, item) = (self.away[at].0.clone(), std::mem::take(&mut self.away[at].1));
        if item.is_empty() {
            return;
        }
        let to = to.path();
        self.make_way(&to);
        self.clear(&to);
        fs::rename(out, self.on_disk(&to)).unwrap();
        self.attach(&to, item);
    }

    fn hard_link(&mut self, note: usize, to: Place) {
        let (Some((from, text)), to) = (self.file(note), to.path()) else { return };
        if from == to || to.starts_with(&format!("{from}/")) || from.starts_with(&format!("{to}/")) {
            return;
        }
        self.make_way(&to);
        self.clear(&to);
        fs::hard_link(self.on_disk(&from), self.on_disk(&to)).unwrap();
        self.nodes.insert(to, Node::File(text));
    }

    fn symlink(&mut self, node: usize, to: Place) {
        let (Some(target), to) = (self.path(node), to.path()) else { return };
        self.make_way(&to);
        self.clear(&to);
        std::os::unix::fs::symlink(self.on_disk(&target), self.on_disk(&to)).unwrap();
        self.nodes.insert(to, Node::Link);
    }
}

/// Whether the vault takes a path for a note's, as its documentation says.
fn is_note(path: &str) -> bool {
    let path = path.to_lowercase();
    [".md", ".markdown"].iter().any(|end| path.ends_with(end)) && !path.split('/').any(|part| part.starts_with('.'))
}

fn as_file<'a>((path, node): (&'a String, &'a Node)) -> Option<(&'a String, &'a Rc<RefCell<Text>>)> {
    match node {
        Node::File(text) => Some((path, text)),
        Node::Link => None,
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}
