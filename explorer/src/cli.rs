//! probe
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use aten2onnx::examples;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use std::sync::Arc;
pub fn main() -> ExitCode {
    let t = Instant::now();
    let set = Arc::new(MappingFiles::replacing(&PathBuf::from("mappings")).unwrap());
    eprintln!("load {:?}", t.elapsed());
    let t = Instant::now();
    let mut rules = Rules::default();
    rules.set_files(set.clone());
    let all = &set.checked().program.examples;
    let (mut distinct, mut bytes, mut nodes, mut big, mut bignodes, mut refused) = (0, 0, 0, 0, 0, 0);
    let mut global = std::collections::HashSet::new();
    let mut gb = 0;
    for e in all {
        let mut seen = std::collections::HashSet::new();
        for opset in 9..=28 {
            let (g, _) = examples::traced(e, set.checked(), &rules, opset, None);
            match g { Ok(g) => {
                let text = g.to_string(); let text = text.split_once('\n').unwrap().1.to_owned();
                if seen.insert(text.clone()) { distinct += 1; bytes += text.len(); let mut n = 0; g.body.visit(&mut |_| n += 1); nodes += n; if n > 150 { big += 1; bignodes += n }
                if global.insert(text.clone()) { gb += text.len(); } }
            } Err(_) => refused += 1 }
        }
    }
    eprintln!("{} examples {:?} distinct {distinct} bytes {bytes} nodes {nodes} big {big} bignodes {bignodes} refused {refused} global {} {gb}", all.len(), t.elapsed(), global.len());
    ExitCode::SUCCESS
}
