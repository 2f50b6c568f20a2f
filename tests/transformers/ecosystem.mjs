// Loads directories that `ecosystem.py` wrote with transformers.js in onnxruntime-node, and compares with what PyTorch made.
//
//     node ecosystem.mjs FOLDER_WITH_NODE_MODULES DIRECTORY..

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...folders] = process.argv.slice(2);
const library = createRequire(join(modules, "index.js")).resolve("@huggingface/transformers");
const { env, pipeline, Tensor, ...classes } = await import(pathToFileURL(library).href);
env.allowRemoteModels = false;
env.allowLocalModels = true;

const CLASSES = {
  "text-generation": "AutoModelForCausalLM",
  "text2text-generation": "AutoModelForSeq2SeqLM",
  "automatic-speech-recognition": "AutoModelForSpeechSeq2Seq",
  "feature-extraction": "AutoModel",
  "text-classification": "AutoModelForSequenceClassification",
  "token-classification": "AutoModelForTokenClassification",
  "question-answering": "AutoModelForQuestionAnswering",
  "fill-mask": "AutoModelForMaskedLM",
  "image-classification": "AutoModelForImageClassification",
  "semantic-segmentation": "AutoModelForSemanticSegmentation",
  "audio-classification": "AutoModelForAudioClassification",
};

/** A tensor from its JSON. */
function tensor({ shape, dtype, data }) {
  return dtype === "int64" ? new Tensor("int64", BigInt64Array.from(data, BigInt), shape) : new Tensor("float32", Float32Array.from(data), shape);
}

/** The rows of a matrix of tokens. */
function rows(tokens) {
  return tokens.tolist().map((row) => row.map(Number));
}

/** What is wrong with generated tokens, from tensors and, for a text, from the text itself. */
async function generated(folder, note, model, inputs) {
  const options = { max_new_tokens: note.new_tokens, min_new_tokens: note.new_tokens, do_sample: false };
  const last = (found) => JSON.stringify(found.map((row) => row.slice(-note.new_tokens)));
  const [found, wanted] = [last(rows(await model.generate({ ...inputs, ...options }))), last(note.tokens)];
  if (found !== wanted) {
    return `other tokens: ${found} instead of ${wanted}`;
  }
  if (note.task !== "text-generation") {
    return "";
  }
  const generator = await pipeline(note.task, basename(folder), { dtype: "fp32" });
  const words = (row) => row.map((token) => note.words[token]).join(" ");
  const [{ generated_text: text }] = await generator(words(rows(inputs.input_ids)[0]), options);
  // A pipeline leaves out special tokens.
  const expected = words(note.tokens[0].filter((token) => !note.special.includes(token)));
  return text === expected ? "" : `the pipeline wrote "${text}" instead of "${expected}"`;
}

/** What is wrong with the results of a model without a cache. */
function computed(note, results) {
  const wrong = [];
  let compared = 0;
  for (const [name, wanted] of Object.entries(note.results)) {
    if (!(name in results)) {
      continue;
    }
    compared += 1;
    const distance = (value, index) => Math.abs(Number(value) - wanted.data[index]) - 1e-3 * Math.abs(wanted.data[index]);
    const worst = Math.max(...Array.from(results[name].data, distance));
    if (JSON.stringify(results[name].dims) !== JSON.stringify(wanted.shape) || !(worst < 1e-4)) {
      wrong.push(`${name} differs by ${worst}`);
    }
  }
  return compared > 0 ? wrong.join(", ") : "no result";
}

async function check(folder) {
  const note = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));
  const inputs = Object.fromEntries(Object.entries(note.inputs).map(([name, value]) => [name, tensor(value)]));
  env.localModelPath = dirname(folder);
  const model = await classes[CLASSES[note.task]].from_pretrained(basename(folder), { dtype: "fp32" });
  return "tokens" in note ? generated(folder, note, model, inputs) : computed(note, await model(inputs));
}

let failed = 0;
for (const folder of folders) {
  let problem;
  try {
    problem = await check(folder);
  } catch (error) {
    problem = `${error.name}: ${error.message}`.replace(/\s+/g, " ").slice(0, 300);
  }
  failed += problem ? 1 : 0;
  console.log(`${basename(folder).padEnd(24)} ${problem || "equal"}`);
}
console.log(`${folders.length - failed} of ${folders.length} give the results of PyTorch`);
process.exitCode = failed ? 1 : 0;
