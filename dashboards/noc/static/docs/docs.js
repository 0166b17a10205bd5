// The routes of the API, drawn by Swagger UI from the API's own description. Only what reads can be tried here.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#routes",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  supportedSubmitMethods: ["get"],
  validatorUrl: null,
});
