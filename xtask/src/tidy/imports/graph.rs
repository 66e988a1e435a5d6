//! The files of a crate as modules: a name is followed through re-exports to the file that defines it.
//!
//! Not here: methods that one type has in several files, and code that macros generate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::text::{FileText, Import};
use crate::checkout::{files, has_extension};

/// Re-exports that a name goes through, at most; a name with more leads to itself.
const HOPS_MAX: usize = 16;

/// A crate: its files below `src`, and the uses between them.
pub(super) struct Graph {
    pub(super) name: String,
    /// By module: `scan/parts/mod.rs` before `scan/parts/plan.rs`.
    pub(super) files: Vec<PathBuf>,
    /// For each file, the positions in [`Graph::files`] of those that it uses, each with a name that it uses.
    pub(super) uses: Vec<BTreeMap<usize, String>>,
}

impl Graph {
    pub(super) fn read(folder: &Path) -> Result<Graph> {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let source = folder.join("src");
        let mut texts = BTreeMap::new();
        for path in files(&source)? {
            if !has_extension(&path, "rs") {
                continue;
            }
            let full = source.join(&path);
            let text = std::fs::read_to_string(&full).with_context(|| full.display().to_string())?;
            texts.insert(path, text);
        }
        Ok(Graph::parse(name, &texts))
    }

    /// The graph of the files with these paths and texts.
    pub(super) fn parse(name: String, files: &BTreeMap<PathBuf, String>) -> Graph {
        let mut modules = BTreeMap::new();
        // If there is a library, main.rs is a crate of its own.
        let has_library = files.contains_key(Path::new("lib.rs"));
        for (path, text) in files.iter().filter(|(path, _)| !has_library || *path != Path::new("main.rs")) {
            modules.insert(module_path(path), (path.clone(), FileText::parse(text)));
        }
        without_tests(&mut modules);
        let paths: Vec<Vec<String>> = modules.keys().cloned().collect();
        let (files, texts) = modules.into_values().unzip();
        let modules = Modules { paths, texts };
        let uses = (0..modules.paths.len()).map(|at| modules.uses(at)).collect();
        Graph { name, files, uses }
    }

    /// Groups of files that all reach each other, largest first, without groups of one file.
    pub(super) fn circles(&self) -> Vec<Vec<usize>> {
        let reached: Vec<BTreeSet<usize>> = (0..self.files.len()).map(|at| self.reach(at)).collect();
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for at in 0..self.files.len() {
            let circle: Vec<usize> =
                reached[at].iter().copied().filter(|&other| reached[other].contains(&at)).collect();
            if circle.len() > 1 && circle.iter().all(|&file| seen.insert(file)) {
                circles.push(circle);
            }
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    fn reach(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(at) = next.pop() {
            next.extend(self.uses[at].keys().copied().filter(|&file| reached.insert(file)));
        }
        reached
    }
}

/// The graphs of all crates, by name.
pub(super) fn read_all(root: &Path) -> Result<Vec<Graph>> {
    let mut folders = vec![root.join("xtask")];
    for entry in std::fs::read_dir(root.join("crates"))? {
        folders.push(entry?.path());
    }
    let sources = folders.into_iter().filter(|folder| folder.join("src").is_dir());
    let mut graphs = sources.map(|folder| Graph::read(&folder)).collect::<Result<Vec<_>>>()?;
    graphs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(graphs)
}

/// `scan/parts/plan.rs` is `scan::parts::plan`, `scan/mod.rs` is `scan`.
fn module_path(file: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

fn without_tests(modules: &mut BTreeMap<Vec<String>, (PathBuf, FileText)>) {
    let mut tests = Vec::new();
    for (path, (_, text)) in modules.iter() {
        for name in &text.test_modules {
            tests.push(path.iter().chain([name]).cloned().collect::<Vec<_>>());
        }
    }
    modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
}

struct Modules {
    paths: Vec<Vec<String>>,
    texts: Vec<FileText>,
}

/// Where a path leads.
enum Target {
    Module(usize),
    /// Something that the file defines.
    Item(usize),
}

impl Modules {
    fn uses(&self, at: usize) -> BTreeMap<usize, String> {
        let text = &self.texts[at];
        let mut uses = BTreeMap::new();
        for import in &text.imports {
            // A re-export alone uses nothing.
            if import.is_public && !text.mentions(&import.name) {
                continue;
            }
            for file in self.imported(at, import) {
                uses.entry(file).or_insert_with(|| import.name.clone());
            }
        }
        for path in &text.paths {
            if let Some(Target::Item(file)) = self.resolve(at, path, HOPS_MAX) {
                uses.entry(file).or_insert_with(|| path.join("::"));
            }
        }
        uses.remove(&at);
        uses
    }

    /// The files that define the item of `import`; none for a module, whose items are then used by paths in code.
    fn imported(&self, at: usize, import: &Import) -> Vec<usize> {
        let (path, last) = import.path.split_at(import.path.len() - 1);
        if import.name == "*" {
            return match self.resolve(at, path, HOPS_MAX) {
                Some(Target::Module(file) | Target::Item(file)) => vec![file],
                None => Vec::new(),
            };
        }
        match self.resolve(at, &import.path, HOPS_MAX) {
            Some(Target::Item(file)) => vec![file],
            // A function may have the name of its module.
            Some(Target::Module(_)) => match self.resolve(at, path, HOPS_MAX) {
                Some(Target::Module(parent)) => {
                    self.named(parent, &last[0], &[], HOPS_MAX).into_iter().collect()
                }
                _ => Vec::new(),
            },
            None => Vec::new(),
        }
    }

    fn find(&self, path: &[String]) -> Option<usize> {
        self.paths.binary_search_by(|found| found.as_slice().cmp(path)).ok()
    }

    fn child(&self, at: usize, name: &str) -> Option<usize> {
        let mut path = self.paths[at].clone();
        path.push(name.to_owned());
        self.find(&path)
    }

    /// `None` for a path that leads out of this crate.
    fn resolve(&self, at: usize, path: &[String], hops: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let hops = hops.checked_sub(1)?;
        let parent = |at: usize| self.find(self.paths[at].split_last()?.1);
        match first.as_str() {
            "crate" => self.walk(self.find(&[])?, rest, hops),
            "self" => self.walk(at, rest, hops),
            "super" => self.walk(parent(at)?, rest, hops),
            name => match self.child(at, name) {
                Some(child) => self.walk(child, rest, hops),
                None => {
                    let mut imports = self.texts[at].imports.iter();
                    let import = imports.rfind(|import| import.name == name && import.path != path)?;
                    self.resolve(at, &[&import.path, rest].concat(), hops)
                }
            },
        }
    }

    /// Where `path` leads from inside of a module.
    fn walk(&self, at: usize, path: &[String], hops: usize) -> Option<Target> {
        let Some((first, rest)) = path.split_first() else { return Some(Target::Module(at)) };
        if first == "super" {
            return self.walk(self.find(self.paths[at].split_last()?.1)?, rest, hops);
        }
        if let Some(child) = self.child(at, first) {
            return self.walk(child, rest, hops);
        }
        let imports = self.texts[at].imports.iter();
        if let Some(import) = imports.clone().find(|import| import.name == *first) {
            return self.resolve(at, &[&import.path, rest].concat(), hops);
        }
        if self.texts[at].defined.contains(first) {
            return Some(Target::Item(at));
        }
        for glob in imports.filter(|import| import.name == "*") {
            let (_, path) = glob.path.split_last()?;
            if let Some(Target::Module(module)) = self.resolve(at, path, hops)
                && let Some(file) = self.named(module, first, rest, hops)
            {
                return Some(Target::Item(file));
            }
        }
        Some(Target::Item(at))
    }

    /// The file of the item called `name` in a module, if it is not a module itself.
    fn named(&self, at: usize, name: &str, rest: &[String], hops: usize) -> Option<usize> {
        let text = &self.texts[at];
        if text.defined.iter().any(|defined| defined == name) && self.child(at, name).is_none() {
            return Some(at);
        }
        let import = text.imports.iter().find(|import| import.name == name)?;
        match self.resolve(at, &[&import.path, rest].concat(), hops.checked_sub(1)?)? {
            Target::Item(file) => Some(file),
            Target::Module(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which file uses which, and the sizes of the circles.
    fn check(files: &[(&str, &str)], edges: &[&str], circles: &[usize]) {
        let files = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        let graph = Graph::parse("x".to_owned(), &files);
        let mut found = Vec::new();
        for (from, uses) in graph.files.iter().zip(&graph.uses) {
            for &to in uses.keys() {
                found.push(format!("{} {}", from.display(), graph.files[to].display()));
            }
        }
        assert_eq!(found, edges);
        assert_eq!(graph.circles().iter().map(Vec::len).collect::<Vec<_>>(), circles);
    }

    #[test]
    fn re_exports_are_followed_to_the_file_that_defines() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a/mod.rs", "mod c;\nmod d;\npub(crate) use c::C;\npub(crate) trait T {}\n"),
            ("a/c.rs", "use super::T;\npub(crate) struct C;\n"),
            ("a/d.rs", "fn d() { crate::b::f(); }\n"),
            ("b.rs", "use crate::a::{self, C};\npub(crate) fn f() { a::d::d(); }\n"),
        ];
        check(&files, &["a/c.rs a/mod.rs", "a/d.rs b.rs", "b.rs a/c.rs", "b.rs a/d.rs"], &[2]);
    }

    #[test]
    fn a_re_export_that_is_used_in_the_same_file_counts() {
        let files = [
            ("lib.rs", "mod a;\n"),
            ("a/mod.rs", "mod c;\npub(crate) use c::C;\npub(crate) trait T { fn f(c: C); }\n"),
            ("a/c.rs", "use super::T;\npub(crate) struct C;\n"),
        ];
        check(&files, &["a/mod.rs a/c.rs", "a/c.rs a/mod.rs"], &[2]);
    }

    #[test]
    fn a_function_with_the_name_of_its_module_is_found() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a/mod.rs", "mod c;\npub(crate) use c::c;\n"),
            ("a/c.rs", "pub(crate) fn c() {}\n"),
            ("b.rs", "use crate::a::c;\nfn b() { c(); }\n"),
        ];
        check(&files, &["b.rs a/c.rs"], &[]);
    }

    #[test]
    fn files_for_tests_only_are_left_out() {
        let files =
            [("lib.rs", "mod a;\n"), ("a.rs", "#[cfg(test)]\nmod t;\n"), ("a/t.rs", "use super::*;\n")];
        check(&files, &[], &[]);
    }
}
