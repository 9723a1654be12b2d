import type { Command } from 'commander';

/** Examples in the help of each command: what is typed, and what it does. */
const examples: Readonly<Record<string, readonly (readonly [typed: string, does: string])[]>> = {
  run: [
    ['quern run demo --raw -p "Once upon a time"', 'the included model goes on with a text'],
    ['quern run qwen3:0.6b "Why is the sky blue?"', 'downloads a model, and answers'],
    ['git diff | quern run model.gguf --system "Summarise."', 'the prompt from standard input'],
    ['quern run model.gguf "A colour:" --choice red,blue', 'one of these answers'],
  ],
  chat: [
    ['quern chat qwen3:0.6b', '/help lists the commands of a chat'],
    ['quern chat model.gguf --system "Answer in French." --ctx 8192', 'a system message, a longer context'],
  ],
  embed: [
    ['quern embed bge.gguf "a mill by the river" --json', 'one embedding'],
    ['quern embed bge.gguf --prompt query < questions.txt', 'one embedding for each line'],
  ],
  rerank: [['quern rerank ranker.gguf "What grinds corn?" "a mill" "a boat"', 'the best answer first']],
  tokenize: [['quern tokenize demo "Once upon a time" --json', '{"ids": […]}']],
  logits: [['quern logits demo --ids 1,2,3 --json', 'the logits after each of three tokens']],
  inspect: [
    ['quern inspect model.gguf', 'metadata, and how it would be loaded'],
    ['quern inspect model.gguf --tensors --json', 'each tensor, for programs'],
  ],
  devices: [
    ['quern devices', 'what can compute here, and how fast'],
    ['quern devices --measure --json', 'measured again, for programs'],
  ],
  doctor: [
    ['quern doctor', 'what is wrong, and what helps'],
    ['quern doctor --json > report.json', 'for a bug report; secrets are hidden'],
  ],
  serve: [
    ['quern serve model.gguf --port 8080', "OpenAI's API, and a page at http://127.0.0.1:8080"],
    ['quern serve small=a.gguf large=b.gguf', 'two models by the names small and large'],
  ],
  bench: [
    ['quern bench --model model.gguf', 'the speed of a file'],
    ['quern bench --arch qwen3-0.6b --format q4_k_m,q8_0', 'of random weights, in two formats'],
  ],
  'bench serve': [['quern bench serve http://127.0.0.1:8080 --requests 100', 'the latencies of a server']],
  transcribe: [
    ['quern transcribe whisper.bin speech.mp3', 'the text'],
    ['quern transcribe whisper.bin speech.mp3 --format srt > speech.srt', 'subtitles'],
  ],
  quantize: [
    ['quern quantize folder model.gguf q4_k_m', 'a folder of Hugging Face as a small GGUF file'],
    ['quern quantize model.gguf --report --formats q8_0,q4_k_m', 'the errors of two formats'],
  ],
  verify: [['quern verify demo --backend cpu', 'compares a backend with the reference']],
  pull: [
    ['quern pull qwen3:0.6b', 'a short name'],
    ['quern pull hf:Qwen/Qwen3-0.6B-GGUF:Q8_0', 'a repository, and a quantisation'],
  ],
  ls: [['quern ls', 'names, sizes, paths']],
  rm: [['quern rm hf:Qwen/Qwen3-0.6B-GGUF:Q8_0', 'asks first; --yes does not']],
  completion: [['eval "$(quern completion bash)"', 'completes in this shell']],
};

/** Adds its examples to the help of a command, and to those below it. */
export function withExamples(command: Command, parent = ''): Command {
  const path = `${parent}${command.name()}`;
  for (const below of command.commands) withExamples(below, `${path} `);
  const own = examples[path] ?? [];
  if (own.length === 0) return command;
  const lines = own.map(([typed, does]) => `  ${typed}\n      ${does}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}
