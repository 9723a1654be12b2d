export { type BuiltinTemplate, builtinTemplates } from './builtin-templates.js';
export { ChatTemplate, type EncodeChatOptions, type TemplateTokens } from './chat-template.js';
export { ChatTemplateError, type ChatTemplateErrorCode } from './error.js';
export { chatTemplateFromGguf, chatTemplateFromHuggingFace, type LoadTemplateOptions } from './load.js';
export type { ChatContent, ChatMessage, ChatRole, ContentPart, MessageCall } from './message.js';
export type { RenderOptions } from './render-options.js';
