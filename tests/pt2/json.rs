//! Archives whose JSON was changed: no file that is exported gives other numbers than PyTorch gives for the same archive.
//!
//! `PT2_JSON_FUZZ` says how many are made (default 200), `PT2_JSON_SEED` with which seed the series starts. A fault is printed with its
//! seed and the change that was made. `json_changes.py` makes the archives and judges what was exported.

mod python {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::{Path, PathBuf};

    use crate::host;

    const SCRIPT: &str = "pt2/json_changes.py";
    /// So many archives are on the disk at a time.
    const AT_ONCE: usize = 1000;

    fn number(name: &str, default: usize) -> usize {
        std::env::var(name).map_or(default, |text| text.parse().unwrap())
    }

    fn archives(folder: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|kind| kind == "pt2")).collect();
        paths.sort();
        paths
    }

    /// Exports an archive: beside it is the model, or the error in a text file.
    fn export(archive: &Path) {
        let exported = catch_unwind(AssertUnwindSafe(|| {
            aten2onnx::Exporter::new().export(archive, archive.with_extension("onnx")).map(|_| ())
        }));
        let said = match exported {
            Ok(Ok(())) => return,
            Ok(Err(error)) => format!("{:?}: {error}", error.kind),
            Err(_) => "a panic".to_owned(),
        };
        fs::write(archive.with_extension("txt"), said).unwrap();
    }

    #[test]
    fn no_changed_program_gives_other_numbers() {
        let (first, count) = (number("PT2_JSON_SEED", 0), number("PT2_JSON_FUZZ", 200));
        let folder = tempfile::tempdir().unwrap();
        let originals = folder.path().join("originals");
        host::judge(SCRIPT, "originals", &[originals.to_str().unwrap()]);
        archives(&originals).iter().for_each(|archive| export(archive));
        for start in (first..first + count).step_by(AT_ONCE) {
            let changed = folder.path().join("changed");
            let paths = [originals.to_str().unwrap(), changed.to_str().unwrap()];
            let wanted = AT_ONCE.min(first + count - start);
            host::judge(SCRIPT, "change", &[paths[0], paths[1], &start.to_string(), &wanted.to_string()]);
            let made = archives(&changed);
            assert_eq!(made.len(), wanted);
            made.iter().for_each(|archive| export(archive));
            host::judge(SCRIPT, "judge", &paths);
            fs::remove_dir_all(&changed).unwrap();
        }
    }
}
