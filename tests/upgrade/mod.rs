//! A new opset: history is repeated. From a copy of the mappings that ends at an older opset, the walk of docs/maintainers.md leads to those
//! of today: import, write by hand what the report asks for, check.
//!
//! `limit.py` makes the copies. The last two opsets are repeated; with `WALKS=all` all are, also with the releases of the package registry, and the
//! skeletons of all are tried. `PAGES=write` writes the table of docs/maintainers.md, and repeats all.

mod walk;

/// The opset that the oldest copy ends at.
const FIRST: u32 = 24;

mod python {
    use std::collections::BTreeMap;
    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;

    use aten2onnx_schemas::Schemas;

    use super::FIRST;
    use super::walk::{Project, Size, Written, asked, files, text};
    use crate::docs::blocks;
    use crate::{common, host};

    /// The marks of the table in the page.
    const MARKS: [&str; 2] = ["<!-- tests/upgrade -->\n", "<!-- tests/upgrade ends -->"];

    /// The release of ONNX that the Python of the tests has, which knows all opsets.
    fn release() -> String {
        host::python("import onnx; print(onnx.__version__)", &[])
    }

    /// A project whose newest opset is this.
    fn project_of(opset: u32) -> Project {
        Project::of(opset, host::interpreter())
    }

    fn newest() -> u32 {
        Schemas::load(&common::root().join("mappings")).unwrap().opsets.max
    }

    fn is_set(variable: &str) -> bool {
        std::env::var(variable).is_ok()
    }

    /// The walk from each opset to the next leads to today's mappings, and the page says how long it is.
    #[test]
    fn history_repeats_itself() {
        let version = release();
        let first = if is_set("WALKS") || is_set("PAGES") { FIRST } else { newest() - 2 };
        let project = project_of(first);
        let mut table = String::from(
            "| opset | new and changed operators | by the command | by hand: rules and facts | by hand: items asked for | measured again: targets |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        for opset in first + 1..=newest() {
            let report = project.import(&version, opset);
            let by_command = project.size();
            assert_eq!(by_command.files, 2, "the snapshot and the list of opsets");
            project.git(&["add", "--all"]);
            project.write_by_hand(&report, opset).unwrap_or_else(|wrong| panic!("opset {opset}: {wrong}\n{report}"));
            let targets = sizes(&project, "mappings/targets");
            let by_hand = sizes(&project, ":!mappings/targets");
            let operators = report.lines().filter(|line| line.starts_with("### ")).count();
            let (before, after) = (files(&project_of(opset - 1).mappings()), files(&project.mappings()));
            let is_new = |item: &&String| is_written(item, &after) && !is_written(item, &before);
            let count = asked(&report).iter().filter(is_new).count();
            let cells = [by_command, by_hand].map(shown);
            let _ = writeln!(
                table,
                "| {opset} | {operators} | {} | {} | {count} | {} |",
                cells[0],
                cells[1],
                shown(targets)
            );
            project.commit();
        }
        let (own, today) = (files(&project.mappings()), files(&common::root().join("mappings")));
        let differing: Vec<&String> =
            today.iter().filter(|(name, text)| own.get(*name) != Some(text)).map(|(name, _)| name).collect();
        assert!(differing.is_empty(), "not the mappings of today: {differing:?}");
        page(&table, first);
    }

    /// Whether mappings have an item.
    fn is_written(item: &str, mappings: &BTreeMap<String, String>) -> bool {
        let has = |text: &str| mappings.iter().any(|(name, file)| !name.starts_with("schemas") && file.contains(text));
        match item.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["entry", op] => has(&format!("\n{op} = {{")),
            ["[[change]]", "of", op, "since", opset] => has(&format!("op = \"{op}\"\nsince = {opset}\nkind")),
            ["lower" | "raise" | "same", ..] => has(&format!("\n{item} ")),
            _ => has(item),
        }
    }

    fn sizes(project: &Project, paths: &str) -> Size {
        let mut size = Size::default();
        for line in project.git(&["diff", "--numstat", "--", ".", paths]).lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if paths.starts_with(':') || words[2].starts_with(paths) {
                size = Size {
                    files: size.files + 1,
                    added: size.added + words[0].parse::<usize>().unwrap(),
                    removed: size.removed + words[1].parse::<usize>().unwrap(),
                };
            }
        }
        size
    }

    fn shown(size: Size) -> String {
        let files = if size.files == 1 { "1 file".to_owned() } else { format!("{} files", size.files) };
        format!("{files}, +{} -{} lines", size.added, size.removed)
    }

    /// Compares the rows of the page for the opsets after the first one, or writes its table.
    fn page(table: &str, first: u32) {
        let path = common::root().join("docs/maintainers.md");
        let page = fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(MARKS[0]).expect("the page has the mark of the table");
        let (old, after) = rest.split_once(MARKS[1]).expect("the table ends");
        if std::env::var("PAGES").is_ok_and(|pages| pages == "write") {
            fs::write(&path, format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1])).unwrap();
            return;
        }
        let opset = |row: &str| row.split('|').nth(1).and_then(|cell| cell.trim().parse::<u32>().ok());
        let rows: Vec<&str> = old.lines().filter(|row| opset(row).is_none_or(|opset| opset > first)).collect();
        assert_eq!(rows, table.lines().collect::<Vec<_>>(), "docs/maintainers.md: run this test with PAGES=write");
    }

    /// Whatever a report does not ask for, although it is needed, is found.
    #[test]
    fn a_report_that_does_not_ask_for_a_rule_leads_nowhere() {
        let project = project_of(25);
        let report = project.import(&release(), 26);
        project.commit();
        assert_eq!(project.write_by_hand(&report, 26), Ok(()));
        for item in [
            "lower CumProd before 26",
            "lower BitCast before 26",
            "entry CumProd",
            "[values.CumProd]",
            "runtimes/facts.py",
        ] {
            project.git(&["checkout", "--quiet", "."]);
            let plain = |line: &str| line.replace("the ", "").replace('`', "");
            let lines: Vec<&str> =
                report.lines().filter(|line| !(line.starts_with("- [ ] ") && plain(line).contains(item))).collect();
            assert_eq!(lines.len() + 1, report.lines().count(), "the report asks for {item} once");
            let wrong = project.write_by_hand(&lines.join("\n"), 26);
            assert!(wrong.is_err(), "without {item} nothing is wrong");
        }
    }

    /// What is imported is undone by git, is not imported twice, and is not written by `--dry-run`.
    #[test]
    fn an_import_is_undone_by_git_and_can_be_repeated() {
        let project = project_of(newest() - 1);
        let (version, before) = (release(), files(&project.mappings()));
        let dry = project.run(&["import-onnx", &version, "--dry-run"]);
        assert!(dry.status.success() && text(&dry).contains("nothing is written"), "{}", text(&dry));
        assert_eq!(files(&project.mappings()), before);
        let report = project.import(&version, newest());
        assert_eq!(String::from_utf8(dry.stdout).unwrap(), report);
        let after = files(&project.mappings());
        assert_ne!(after, before);
        assert!(project.import(&version, newest()).contains("Nothing changed."));
        assert_eq!(files(&project.mappings()), after);
        project.git(&["checkout", "--quiet", "mappings"]);
        assert_eq!((files(&project.mappings()), project.git(&["status", "--porcelain"]).as_str()), (before, ""));
    }

    /// The skeletons and the examples of a report are rules without errors, where they are put. A skeleton of a lowering refuses; where other rules
    /// call the operator, the `same` that the report offers in its place is put.
    #[test]
    fn skeletons_and_examples_pass_the_compiler() {
        let first = if is_set("WALKS") { FIRST + 1 } else { newest() };
        for opset in first..=newest() {
            let project = project_of(opset - 1);
            let report = project.import(&release(), opset);
            // Entries and headers are written; lowerings are not.
            let is_fact = |item: &String| {
                ["entry ", "[values."].iter().any(|start| item.starts_with(start)) || item.ends_with(" avoided")
            };
            let with: Vec<String> = asked(&report).into_iter().filter(is_fact).collect();
            let scratch = tempfile::tempdir().unwrap();
            let base = files(
                &Written { opset, by_hand: opset - 1, measured: opset - 1, with: &with }
                    .write(&host::interpreter(), scratch.path()),
            );
            let attempt = |is_same: bool| {
                base.iter().for_each(|(name, text)| fs::write(project.mappings().join(name), text).unwrap());
                let count = put(&report, &project.mappings(), is_same);
                assert!(count > 3, "only {count} blocks at opset {opset}");
                let check = project.run(&["check"]);
                if check.status.success() { Ok(()) } else { Err(text(&check)) }
            };
            attempt(false).or_else(|_| attempt(true)).unwrap_or_else(|wrong| panic!("opset {opset}:\n{wrong}"));
        }
    }

    /// Puts the lowerings that a report must have, or the `same` in their place, and its examples, where it says. Returns how many blocks there are.
    fn put(report: &str, mappings: &Path, is_same: bool) -> usize {
        let (mut count, mut place, mut is_needed, mut same) = (0, String::from("onnx/misc.opmap"), true, None);
        let mut lines = report.lines();
        while let Some(line) = lines.next() {
            if let Some(ask) = line.strip_prefix("**") {
                let code: Vec<&str> = ask.split('`').collect();
                place = code.iter().rev().find(|part| part.ends_with(".opmap")).unwrap_or(&"").to_string();
                is_needed = !ask.contains(", if ");
                same = code
                    .iter()
                    .find(|part| is_same && part.starts_with("same "))
                    .map(|part| format!("{part} \"it means the same\""));
            } else if line.starts_with("ONNX's own tests") {
                (place, is_needed, same) = (String::from("onnx/misc.opmap"), true, None);
            } else if line == "```opmap" {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                count += 1;
                if is_needed {
                    let path = mappings.join(&place);
                    let text = fs::read_to_string(&path).unwrap();
                    fs::write(path, format!("{text}\n{}\n", same.take().unwrap_or_else(|| block.join("\n")))).unwrap();
                }
            }
        }
        count
    }

    /// The second walk of docs/maintainers.md, as it is written, in a copy that ends one opset earlier. What its list asks for is written after the
    /// block that imports.
    #[test]
    fn the_walk_to_a_new_opset_is_as_it_is_written() {
        let page = blocks::pages(common::root()).into_iter().find(|page| page.name == "docs/maintainers.md").unwrap();
        let is_walk = |block: &blocks::Block| {
            block.section.starts_with("2. ") && (block.language.as_str(), block.rest.as_str()) == ("sh", "walk")
        };
        let walk: Vec<blocks::Block> = page.blocks.into_iter().filter(is_walk).collect();
        let imports = walk.iter().rposition(|block| block.text.contains("import-onnx")).expect("a block imports");
        let opset = newest();
        let project = project_of(opset - 1);
        fs::create_dir(project.folder().join("docs")).unwrap();
        for name in ["docs/operators.md", "docs/verified.json"] {
            fs::copy(common::root().join(name), project.folder().join(name)).unwrap();
        }
        project.commit();
        for (at, block) in walk.iter().enumerate() {
            let output = project.shell(&block.text);
            assert!(output.status.success(), "{}:\n{}", block.at, text(&output));
            if at == imports {
                let report = fs::read_to_string(project.folder().join("report.md")).expect("the walk keeps the report");
                project.write_by_hand(&report, opset).unwrap();
            }
        }
        assert!(walk.len() > 3 && imports + 1 < walk.len(), "{} blocks", walk.len());
        assert_eq!(files(&project.mappings()), files(&common::root().join("mappings")));
        let operators = |folder: &Path| fs::read_to_string(folder.join("docs/operators.md")).unwrap();
        assert_eq!(operators(project.folder()), operators(common::root()));
    }

    /// Each opset from the release that brought it, by way of the package registry. ONNX added versions to opsets that were released: a later release
    /// brings them. After all of them there is what the newest release has, and the reports have asked for everything.
    #[test]
    fn history_repeats_itself_with_the_releases_of_the_time() {
        if !is_set("WALKS") {
            return;
        }
        let opsets = Schemas::load(&common::root().join("mappings")).unwrap().opsets;
        let project = project_of(FIRST);
        let mut reports = String::new();
        for opset in FIRST + 1..=opsets.max {
            let version = &opsets.opsets[&opset].onnx;
            let report = project.import(version, opset);
            assert!(report.contains(&format!("The source is onnx {version}.")), "{report}");
            reports.push_str(&report);
        }
        let plain = |folder: &Path| {
            let text = fs::read_to_string(folder.join("schemas/onnx.txt")).unwrap();
            text.lines().filter(|line| !line.starts_with("# Source: onnx ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(plain(&project.mappings()), plain(&common::root().join("mappings")));
        project.write_all_by_hand(&reports, FIRST, opsets.max).unwrap();
        assert_eq!(files(&project.mappings()), files(&common::root().join("mappings")));
    }
}
