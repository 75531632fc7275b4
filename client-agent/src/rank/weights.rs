//! The constants of the order. Chosen on the development repositories (docs/quality.md); the plateau is flat.

/// What each part of a score counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Share of meaning against words, for a question.
    pub semantic: f32,
    /// The same for a symbol.
    pub semantic_symbol: f32,
    /// BM25 score of the best chunk, as a multiple of the summed weights of the question's words, from which words count
    /// in full; below it they count less.
    pub sure_words: f32,
    /// Definition of a named identifier.
    pub definition: f32,
    /// Declared names.
    pub declared: f32,
    /// Name of the file.
    pub stem: f32,
    /// Names of the folders.
    pub folder: f32,
    /// What test code keeps.
    pub test: f32,
    /// What examples and documents keep.
    pub example: f32,
    /// What legacy code, translations, stubs and foreign code keep.
    pub old: f32,
    /// What a version keeps that has a later one beside it.
    pub old_version: f32,
    /// A file's best chunks together, added to its best one.
    pub together: f32,
    /// Chunks of a file that count.
    pub file_chunks: usize,
    /// Each counts this much of the one before.
    pub file_decay: f32,
    /// Whether every file shows its best chunk before any shows a second.
    pub one_a_file: bool,
}

impl Weights {
    /// The sum of a chunk that has everything.
    pub(super) fn most(&self) -> f32 {
        1.0 + self.definition + self.declared + self.stem + self.folder + self.together
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            semantic: 0.4,
            semantic_symbol: 0.2,
            sure_words: 1.0,
            definition: 1.0,
            declared: 0.4,
            stem: 1.0,
            folder: 0.4,
            test: 0.3,
            example: 0.5,
            old: 0.7,
            old_version: 0.5,
            together: 0.5,
            file_chunks: 5,
            file_decay: 0.9,
            one_a_file: true,
        }
    }
}
