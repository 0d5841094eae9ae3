// A chart as a picture to send: what is drawn, with its colours and a text above it.

const drawn = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-size', 'font-family', 'font-weight', 'text-anchor'] as const
const lineHeight = 18
const padding = 16

// pictureOf returns a PNG of a chart below lines of text. The page's styles do not reach into a picture, so each
// element has its own.
export async function pictureOf(chart: SVGSVGElement, lines: readonly string[]): Promise<Blob> {
  const [width, height] = [chart.clientWidth + 2 * padding, chart.clientHeight + lines.length * lineHeight + 2 * padding]
  const copy = chart.cloneNode(true) as SVGSVGElement
  const [from, to] = [chart, copy].map((e) => [e, ...e.querySelectorAll<SVGElement>('*')]) as [Element[], SVGElement[]]
  from.forEach((e, n) => {
    const style = getComputedStyle(e)
    for (const name of drawn) to[n]?.setAttribute(name, style.getPropertyValue(name))
  })
  const page = getComputedStyle(document.body)
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  const add = (name: string, attributes: Record<string, string | number>, text = ''): Element => {
    const e = document.createElementNS(svg.namespaceURI, name)
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, String(value))
    e.textContent = text
    return svg.appendChild(e)
  }
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  svg.setAttribute('width', String(width))
  svg.setAttribute('height', String(height))
  add('rect', { width, height, fill: page.backgroundColor })
  lines.forEach((text, n) => add('text', { x: padding, y: padding + 13 + n * lineHeight, 'font-size': 13, 'font-family': page.fontFamily, 'font-weight': n === 0 ? 600 : 400, fill: page.color }, text))
  add('g', { transform: `translate(${padding} ${padding + lines.length * lineHeight})` }).append(copy)
  return toPNG(new XMLSerializer().serializeToString(svg), width, height)
}

async function toPNG(svg: string, width: number, height: number): Promise<Blob> {
  const image = new Image()
  image.src = 'data:image/svg+xml,' + encodeURIComponent(svg)
  await image.decode()
  const canvas = document.createElement('canvas')
  const scale = 2 // for screens with small pixels
  canvas.width = width * scale
  canvas.height = height * scale
  const pen = canvas.getContext('2d')
  pen?.scale(scale, scale)
  pen?.drawImage(image, 0, 0)
  return new Promise((yes, no) => canvas.toBlob((b) => (b ? yes(b) : no(new Error('the browser made no picture'))), 'image/png'))
}
