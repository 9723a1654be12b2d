import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chatTemplateFromGguf, chatTemplateFromHuggingFace } from '../../src/chat/index.js';
import { tokenizerFromGguf } from '../../src/tokenizer/index.js';

const tokenizer = tokenizerFromGguf(
  new Map<string, unknown>([
    ['tokenizer.ggml.model', 'llama'],
    ['tokenizer.ggml.tokens', ['<unk>', '<s>', '</s>']],
    ['tokenizer.ggml.token_type', [2, 3, 3]],
  ]),
);
const hello = [{ role: 'user', content: 'hello' }];
const source = '{{ bos_token }}{{ messages[0].content }}{{ eos_token }}';
const noTemplate = expect.objectContaining({
  name: 'ChatTemplateError',
  code: 'NO_TEMPLATE',
  message: expect.stringContaining('chatml, llama2, llama3'),
});

describe('GGUF', () => {
  test('template and special tokens come from the file', () => {
    const metadata = new Map([
      ['tokenizer.chat_template', source],
      ['tokenizer.chat_template.tool_use', 'tools!'],
    ]);
    expect(chatTemplateFromGguf(metadata, tokenizer).render(hello)).toBe('<s>hello</s>');
    expect(chatTemplateFromGguf(metadata, tokenizer, { name: 'tool_use' }).render(hello)).toBe('tools!');
  });

  test('templates get all special tokens', () => {
    const metadata = new Map<string, unknown>([
      [
        'tokenizer.chat_template',
        '{{ unk_token }}|{{ additional_special_tokens }}|{{ pad_token is defined }}',
      ],
      ['tokenizer.ggml.unknown_token_id', 0],
    ]);
    const others = tokenizerFromGguf(
      new Map<string, unknown>([
        ['tokenizer.ggml.model', 'llama'],
        ['tokenizer.ggml.tokens', ['<unk>', '<s>', '</s>', '<|a|>', 'b', '<|c|>']],
        ['tokenizer.ggml.token_type', [2, 3, 3, 3, 1, 3]],
      ]),
    );
    expect(chatTemplateFromGguf(metadata, others).render(hello)).toBe("<unk>|['<|a|>', '<|c|>']|False");
  });

  test('a base model needs a chosen template', () => {
    expect(() => chatTemplateFromGguf(new Map(), tokenizer)).toThrow(noTemplate);
    const chosen = chatTemplateFromGguf(new Map(), tokenizer, { builtin: 'llama2' });
    expect(chosen.render(hello)).toBe('<s>[INST] hello [/INST]');
  });
});

describe('Hugging Face folder', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quern-chat-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const render = async (options = {}) =>
    (await chatTemplateFromHuggingFace(folder, tokenizer, options)).render(hello);

  test('chat_template.jinja overrides tokenizer_config.json', async () => {
    await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify({ chat_template: source }));
    expect(await render()).toBe('<s>hello</s>');
    await writeFile(join(folder, 'chat_template.jinja'), 'file');
    expect(await render()).toBe('file');
    expect(await render({ builtin: 'llama2' })).toBe('<s>[INST] hello [/INST]');
  });

  test('templates get all special tokens', async () => {
    const chat_template =
      '{{ bos_token }}{{ pad_token }}{{ image_token }}{{ additional_special_tokens }}{{ model_max_length is defined }}';
    const config = {
      chat_template,
      bos_token: { content: '<bos>', lstrip: false },
      pad_token: '<pad>',
      additional_special_tokens: ['<a>', { content: '<b>' }],
      extra_special_tokens: { image_token: '<image>' },
      model_max_length: 5,
    };
    await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
    expect(await render()).toBe("<bos><pad><image>['<a>', '<b>']False");
  });

  test('a list of templates', async () => {
    const chat_template = [
      { name: 'tool_use', template: 'tools' },
      { name: 'default', template: 'plain' },
    ];
    await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify({ chat_template }));
    expect(await render()).toBe('plain');
    expect(await render({ name: 'tool_use' })).toBe('tools');
  });

  test('no template, and a broken file', async () => {
    await expect(render()).rejects.toThrow(noTemplate);
    await writeFile(join(folder, 'tokenizer_config.json'), '{');
    await expect(render()).rejects.toThrow(expect.objectContaining({ code: 'BAD_TEMPLATE' }));
  });
});
