import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** `/player.js`, and below `/player/` what it loads when needed and the page at `/watch`. Names are constant: see ETag. */
export default defineConfig({
  root: at('.'),
  publicDir: at('public'),
  // Addresses are relative to the file that names them, so that everything works below a path.
  base: './',
  build: {
    outDir: at('../../build/player'),
    emptyOutDir: true,
    target: ['chrome123', 'safari17.5', 'firefox128'],
    modulePreload: false,
    // hls.js, which is loaded only when it is needed.
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      input: { player: at('player.ts'), 'player/watch': at('watch/watch.ts') },
      output: { entryFileNames: '[name].js', chunkFileNames: 'player/[name].js' },
    },
  },
})
