fn main() {
    let mut s = aten2onnx_codegen::source::Sources::default();
    for a in std::env::args().skip(1) {
        let id = s.add(a.clone(), std::fs::read_to_string(&a).unwrap());
        let mut out = vec![];
        let t = std::time::Instant::now();
        let f = aten2onnx_codegen::syntax::parse_file(&s, id, &mut out);
        let e = t.elapsed();
        for d in &out { println!("{a}:{} {:?} {:?} {:?}", s.line(d.primary.0), d.code, d.message, s.text(d.primary.0)); }
        println!("{a}: {} items {} errors {e:?}", f.items.len(), out.len());
    }
}
