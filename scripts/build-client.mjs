// Builds dist/client/ for `import 'sluice/client'`.
import { compile } from './compile.mjs'

compile({ source: 'web/client', built: 'dist/client/index.js', config: 'web/client/tsconfig.json' })
