import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** hls.js comes from its own package, below the same path: see the routes of the player. */
const HLS_JS: Readonly<Record<string, string>> = {
  'hls.js': './player/hls.js',
  'hls.js/light': './player/hls.light.js',
}

/** No import has styles to preload. What Vite has for them is 0.7 kB of `player.js`, compressed. */
const withoutPreloads: Plugin = {
  name: 'without-preloads',
  enforce: 'pre',
  load: (id) => (id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (load) => load()' : null),
}

/** `/player.js`, and below `/player/` what it loads when needed and the page at `/watch`. Names are constant: see ETag. */
export default defineConfig({
  root: at('.'),
  plugins: [withoutPreloads],
  publicDir: at('public'),
  // Addresses are relative to the file that names them, so that everything works below a path.
  base: './',
  build: {
    outDir: at('../../build/player'),
    emptyOutDir: true,
    target: ['chrome123', 'safari17.5', 'firefox128'],
    modulePreload: false,
    rolldownOptions: {
      external: Object.keys(HLS_JS),
      input: { player: at('player.ts'), 'player/watch': at('watch/watch.ts') },
      output: { entryFileNames: '[name].js', chunkFileNames: 'player/[name].js', paths: HLS_JS },
    },
  },
})
