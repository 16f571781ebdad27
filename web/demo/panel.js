// What both tabs share: a screen, figures below it, a form, and a notice.

export function panel(root, labels) {
  const find = (selector) => root.querySelector(selector)
  const [form, video, screen, badge, notice, button] = ['form', 'video', '.screen', '.badge', '.notice', '.main'].map(
    find,
  )
  const values = new Map(labels.map((label) => [label, figure(find('.figures'), label)]))
  const unmute = find('.unmute')
  // Browsers allow autoplay only without audio.
  const offerAudio = () => unmute && (unmute.hidden = !video.muted || !screen.classList.contains('on'))
  unmute?.addEventListener('click', () => (video.muted = false))
  video.addEventListener('volumechange', offerAudio)
  const lit = (on) => {
    if (on && !screen.classList.contains('on')) show(screen)
    screen.classList.toggle('on', on)
    root.classList.toggle('on', on)
    video.controls = on && !video.hasAttribute('data-own')
    offerAudio()
  }
  return {
    form,
    video,
    button,
    field: (name) => new FormData(form).get(name)?.trim() ?? '',
    state(name, text) {
      badge.dataset.state = name
      badge.textContent = text
    },
    /** @param media null: shows nothing */
    play(media) {
      video.srcObject = media
      lit(media !== null)
    },
    lit,
    figures(shown) {
      for (const [label, value] of values) value.textContent = shown[label] || '–'
    },
    refused({ words, detail }) {
      say(notice, words, detail)
      notice.classList.add('refused')
      show(notice)
    },
    inform(...content) {
      notice.replaceChildren(...content)
      notice.classList.remove('refused')
      notice.hidden = content.length === 0
    },
  }
}

/** On a small screen the changed element may be out of sight. */
const show = (element) => element.scrollIntoView({ block: 'nearest', behavior: 'smooth' })

function figure(list, label) {
  const value = document.createElement('dd')
  value.textContent = '–'
  value.dataset.figure = label
  const name = document.createElement('dt')
  name.textContent = label
  const tile = document.createElement('div')
  tile.append(name, value)
  list.append(tile)
  return value
}

function say(notice, words, detail) {
  const text = document.createElement('p')
  text.textContent = words
  const code = document.createElement('code')
  code.textContent = detail
  notice.replaceChildren(text, ...(detail === '' || detail === words ? [] : [code]))
  notice.hidden = false
}

/** Calls `step` about once a second until the returned function is called. */
export function everySecond(step) {
  const timer = setInterval(() => void step(), 1000)
  return () => clearInterval(timer)
}

export const milliseconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
