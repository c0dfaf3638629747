//! A graph on disk: one file, checked whole before a byte of it is believed.
//!
//! `mvgraph1`, five numbers, the arrays, and a BLAKE3 hash of all that; little-endian. It is a cache: whatever is odd about it,
//! the answer is to build the graph again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::graph::{Graph, Layer, Lists};
use super::kernel::inverse_norm;
use super::set::{VectorSet, too_many_dead};
use crate::base::fs::crash;

/// The name and the version of the format; another version is another eight bytes.
const MAGIC: &[u8; 8] = b"mvgraph1";
const FILE_NAME: &str = "vectors.graph";

/// A saved graph that cannot be written or used. A graph is a cache: the answer to any of these is to build it again.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The file could not be read or written.
    #[error("cannot {operation} the saved vector graph {path}: {source}")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not what was written.
    #[error("the saved vector graph {path} is damaged ({reason}); it will be built again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file is whole, but made for other vectors, or for vectors most of which are gone.
    #[error("the saved vector graph {path} covers {covered} of {rows} rows as they are now; it will be built again")]
    Stale {
        /// The file.
        path: PathBuf,
        /// How many of its rows are in the set, unchanged.
        covered: usize,
        /// How many rows it was built over.
        rows: usize,
    },
}

impl GraphError {
    /// Whether there is a file and it is not one that was written here.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() != std::io::ErrorKind::NotFound,
            Self::Damaged { .. } => true,
            Self::Stale { .. } => false,
        }
    }
}

impl Graph {
    /// Saves the graph to a folder, which is made if it is missing; the one above must be there. A crash leaves the old file or the new one.
    ///
    /// # Errors
    ///
    /// [`GraphError::Io`].
    pub fn save(&self, dir: &Path) -> Result<(), GraphError> {
        let path = dir.join(FILE_NAME);
        let write = || {
            // Never the folders above: the vault may be moved away meanwhile.
            match fs::create_dir(dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            // Always the same name, so that what a killed process left there is written over.
            let beside = path.with_extension("new");
            let mut file = File::create(&beside)?;
            file.write_all(&self.to_bytes())?;
            crash::point("graph-written");
            file.sync_all()?;
            crash::point("graph-synced");
            fs::rename(&beside, &path)?;
            crash::point("graph-renamed");
            sync_dir(dir)
        };
        write().map_err(|source| GraphError::Io { operation: "write", path: path.clone(), source })
    }

    /// Saves the graph, which is built again at the next start where that fails.
    pub fn save_or_warn(&self, dir: &Path) {
        if let Err(error) = self.save(dir) {
            tracing::warn!("the graph could not be saved, the next start builds it again: {error}");
        }
    }

    /// Loads the graph saved in a folder, if it fits the vectors of `set`; see [`VectorSet::with_graph`].
    ///
    /// # Errors
    ///
    /// [`GraphError::Io`] when the file is missing or cannot be read, [`GraphError::Damaged`] when it is not what was written,
    /// and [`GraphError::Stale`] when so few of its rows are still in the set that it would not be used.
    pub fn load(dir: &Path, set: &VectorSet) -> Result<Self, GraphError> {
        let path = dir.join(FILE_NAME);
        let bytes =
            fs::read(&path).map_err(|source| GraphError::Io { operation: "read", path: path.clone(), source })?;
        let graph = parse(&bytes).map_err(|reason| GraphError::Damaged { path: path.clone(), reason })?;
        let rows = graph.rows();
        let covered = if graph.dims == set.dims {
            let nodes = graph.nodes_by_chunk();
            nodes.iter().filter(|&&(chunk, node)| set.has(chunk, graph.code(node))).count()
        } else {
            0
        };
        if too_many_dead(rows - covered, rows) {
            return Err(GraphError::Stale { path, covered, rows });
        }
        Ok(graph)
    }

    /// Compares the graph saved in a folder with its checksum. Where there is none, nothing is wrong.
    ///
    /// # Errors
    ///
    /// [`GraphError::Io`] when the file cannot be read, [`GraphError::Damaged`] when it is not what was written.
    pub fn check(dir: &Path) -> Result<(), GraphError> {
        let path = dir.join(FILE_NAME);
        match fs::read(&path) {
            Ok(bytes) if content(&bytes).is_ok() => Ok(()),
            Ok(_) => Err(GraphError::Damaged { path, reason: "its checksum is wrong" }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(GraphError::Io { operation: "read", path, source }),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [self.dims, self.nodes(), self.rows(), self.layers.len(), self.entry as usize] {
            bytes.extend((number as u64).to_le_bytes());
        }
        put(&mut bytes, &self.codes, |value| value.to_le_bytes());
        put(&mut bytes, &self.chunks.starts, |start| start.to_le_bytes());
        put(&mut bytes, &self.chunks.items, |chunk| chunk.to_le_bytes());
        for layer in &self.layers {
            for list in [&layer.nodes, &layer.links.starts, &layer.links.items] {
                bytes.extend((list.len() as u64).to_le_bytes());
                put(&mut bytes, list, |number| number.to_le_bytes());
            }
        }
        let hash = blake3::hash(&bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }
}

impl VectorSet {
    /// Tells whether a chunk has a vector with this code.
    fn has(&self, chunk: u64, code: &[i8]) -> bool {
        self.find(chunk).is_some_and(|(at, row)| self.segments[at].columns.code(row) == code)
    }
}

fn put<T: Copy, const N: usize>(bytes: &mut Vec<u8>, items: &[T], encoded: impl Fn(T) -> [u8; N]) {
    items.iter().for_each(|&item| bytes.extend(encoded(item)));
}

/// What is before the hash that a file ends with, where it fits.
fn content(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let (content, hash) = bytes.split_last_chunk::<32>().ok_or("it is too short")?;
    if blake3::hash(content) != *hash { Err("its checksum is wrong") } else { Ok(content) }
}

/// Makes the rename itself survive a power cut, where folders can be synced.
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Reads a graph. After the hash has been verified the structure is checked too, so that no file, whoever wrote it, can make
/// a search run out of bounds.
pub(super) fn parse(bytes: &[u8]) -> Result<Graph, &'static str> {
    let mut input = Input { rest: content(bytes)? };
    if input.take(MAGIC.len())? != MAGIC {
        return Err("it has another format");
    }
    let [dims, nodes, rows, layers, entry] =
        [input.number()?, input.number()?, input.number()?, input.number()?, input.number()?];
    if dims == 0 || nodes == 0 || layers == 0 || entry >= nodes {
        return Err("its header is invalid");
    }
    let codes: Vec<i8> = input.items(dims.checked_mul(nodes).ok_or("it is too large")?, i8::from_le_bytes)?;
    let starts = input.items(nodes.checked_add(1).ok_or("it is too large")?, u32::from_le_bytes)?;
    let chunks = lists(starts, input.items(rows, u64::from_le_bytes)?, nodes)?;
    let layers = (0..layers).map(|at| layer(&mut input, at, nodes)).collect::<Result<Vec<_>, _>>()?;
    if !input.rest.is_empty() {
        return Err("it is too long");
    }
    let inverse_norms = codes.chunks_exact(dims).map(inverse_norm).collect();
    Ok(Graph { dims, codes, inverse_norms, chunks, layers, entry: entry as u32 })
}

fn layer(input: &mut Input<'_>, at: usize, all_nodes: usize) -> Result<Layer, &'static str> {
    let mut list = || {
        let len = input.number()?;
        input.items(len, u32::from_le_bytes)
    };
    let (nodes, starts, links) = (list()?, list()?, list()?);
    let in_layer = if at == 0 { all_nodes } else { nodes.len() };
    let known = |node: &u32| (*node as usize) < all_nodes;
    if (at == 0) != nodes.is_empty() || !nodes.is_sorted() || !nodes.iter().chain(&links).all(known) {
        return Err("a layer has nodes that do not exist");
    }
    Ok(Layer { nodes, links: lists(starts, links, in_layer)? })
}

fn lists<T>(starts: Vec<u32>, items: Vec<T>, len: usize) -> Result<Lists<T>, &'static str> {
    let whole = starts.first() == Some(&0) && starts.last().is_some_and(|&end| end as usize == items.len());
    if starts.len() != len + 1 || !whole || !starts.is_sorted() {
        return Err("its lists do not match");
    }
    Ok(Lists { starts, items })
}

struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or("it is too short")?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize, &'static str> {
        let bytes = self.take(8)?.first_chunk::<8>().expect("eight bytes were taken");
        usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| "it is too large")
    }

    fn items<T, const N: usize>(&mut self, len: usize, item: impl Fn([u8; N]) -> T) -> Result<Vec<T>, &'static str> {
        let bytes = self.take(len.checked_mul(N).ok_or("it is too large")?)?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|&bytes| item(bytes)).collect())
    }
}
