import { defineConfig, type Plugin } from 'vite';

/** Puts script and style into the page: the report must be one file that needs nothing else. */
function singleFile(): Plugin {
  return {
    name: 'single-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['index.html'];
      if (page?.type !== 'asset') throw new Error('there is no page to put things into');
      let html = String(page.source);
      for (const [name, part] of Object.entries(bundle)) {
        if (name === 'index.html') continue;
        const tag = part.type === 'chunk'
          ? new RegExp(`<script[^>]*src="[^"]*${name}"[^>]*></script>`)
          : new RegExp(`<link[^>]*href="[^"]*${name}"[^>]*>`);
        const code = part.type === 'chunk' ? part.code : String(part.source);
        const text = code.trim().replaceAll('</script', '<\\/script').replaceAll('</style', '<\\/style');
        const inline = part.type === 'chunk'
          ? `<script type="module">${text}</script>`
          : `<style>${text}</style>`;
        if (!tag.test(html)) throw new Error(`the page does not refer to ${name}`);
        html = html.replace(tag, () => inline);
        delete bundle[name];
      }
      page.source = html;
      page.fileName = 'report.html';
    },
  };
}

export default defineConfig({
  plugins: [singleFile()],
  build: {
    outDir: 'dist',
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
});
