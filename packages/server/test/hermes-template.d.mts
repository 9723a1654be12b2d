/** A template of the family of Hermes and Qwen, with tools. */
export declare const hermesTemplate: string;
