// Makes an element of HTML, or of a drawing if its name begins with "svg:", with attributes and children.
function make(tag, attributes = {}, ...children) {
  const [name, drawn] = tag.split(":").reverse();
  const made = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}
