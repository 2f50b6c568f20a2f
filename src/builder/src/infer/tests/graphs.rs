//! Whole graphs that compute shapes from shapes: the bodies of ONNX's functions.

use super::*;

/// A graph, with its float constants among the values.
struct Function {
    name: String,
    opset: u32,
    inputs: Vec<(String, Given)>,
    nodes: Vec<Json>,
    outputs: Vec<(String, Type)>,
}

fn functions() -> Vec<Function> {
    let parse = |json: &Json| {
        let graph = Graph::default();
        let typed = |key: &str| -> Vec<(String, Type)> {
            let types = json[key].as_object().unwrap().iter();
            types.map(|(name, t)| (name.clone(), parse_type(t.as_str().unwrap(), &|| graph.fresh()))).collect()
        };
        let inputs = typed("inputs").into_iter().map(|(name, ty)| {
            let constant = json["contents"].get(&name).map(constant);
            let content = constant.as_ref().and_then(contents);
            (name, Given { ty, constant, content })
        });
        Function {
            name: json["name"].as_str().unwrap().into(),
            opset: json["opset"].as_u64().unwrap() as u32,
            inputs: inputs.collect(),
            nodes: json["nodes"].as_array().unwrap().clone(),
            outputs: typed("outputs"),
        }
    };
    read("infer_graphs.json").iter().map(parse).collect()
}

fn names(json: &Json) -> Vec<&str> {
    json.as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect()
}

impl Function {
    /// All values after running inference on the nodes.
    fn infer(&self, graph: &Graph) -> Result<HashMap<String, Given>> {
        let mut values: HashMap<String, Given> = self.inputs.iter().cloned().collect();
        for node in &self.nodes {
            let op = node[0].as_str().unwrap();
            let version = version(op, self.opset);
            let attrs = attrs(graph, version, &serde_json::from_value(node[3].clone()).unwrap());
            let inputs: Vec<_> = names(&node[1]).into_iter().map(|n| values.get(n).map(Given::view)).collect();
            let outputs = names(&node[2]);
            let types = infer(graph, op, version, &inputs, &attrs, outputs.len(), self.opset)?;
            let contents = content(graph, op, version, &inputs, &attrs, outputs.len(), self.opset);
            let literal = node[3]["value"][1].as_object().filter(|v| v["data"].is_array());
            let literal = literal.map(|v| constant(&Json::Object(v.clone())));
            for ((name, ty), content) in outputs.iter().zip(types).zip(contents) {
                values.insert((*name).into(), Given { ty, content, constant: literal.clone() });
            }
        }
        Ok(values)
    }

    fn check(&self, graph: &Graph, sizes: &HashMap<String, i64>, score: &mut Score) -> Result<(), String> {
        let values = self.infer(graph).map_err(|e| format!("{}: {e}", self.name))?;
        let check = |size: &SymInt, n: i64| dims::has_anonymous(size) || size.eval(sizes) == Some(n);
        for (name, want) in &self.outputs {
            compare(&values[name].ty, want, score, &check).map_err(|e| format!("{}: {e}", self.name))?;
        }
        Ok(())
    }
}

#[test]
fn shapes_that_graphs_compute_are_exact() {
    let (mut score, mut failures) = (Score::default(), Vec::new());
    for function in functions() {
        failures.extend(function.check(&Graph::default(), &HashMap::new(), &mut score).err());
    }
    assert_none(&failures);
    assert!(score.exact >= 246 && score.all >= 252, "fewer sizes are known: {score:?}");
}

#[test]
fn symbolic_shapes_that_graphs_compute_come_true() {
    let (mut score, mut failures) = (Score::default(), Vec::new());
    for mut function in functions() {
        let (mut graph, mut sizes) = (Graph::default(), HashMap::new());
        for (_, input) in &mut function.inputs {
            let Type::Tensor { shape: Some(dims), .. } = &mut input.ty else { continue };
            for dim in dims.iter_mut().filter(|_| input.constant.is_none()) {
                let Some(n) = dim.known() else { continue };
                let name = format!("s{n}");
                graph.ranges.insert(name.clone(), (Some(n.min(2)), None));
                sizes.insert(name.clone(), n);
                *dim = SymInt::symbol(name);
            }
        }
        failures.extend(function.check(&graph, &sizes, &mut score).err());
    }
    assert_none(&failures);
    assert!(score.exact >= 236 && score.all >= 252, "fewer sizes are known: {score:?}");
}
