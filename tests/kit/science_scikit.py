"""scikit-learn's estimators and metrics that take arrays of any library. In: nothing. Out: a call
of each, and why some wait."""

from __future__ import annotations

from science_calls import VIEW, Client

ESTIMATORS = """
preprocessing.Binarizer(threshold=1.0).fit_transform(m)
preprocessing.KernelCenterer().fit(square).transform(square)
preprocessing.LabelEncoder().fit(counts).transform(counts)
preprocessing.LabelEncoder().fit(counts).inverse_transform(classes)
preprocessing.LabelBinarizer().fit_transform(classes)
preprocessing.MaxAbsScaler().fit_transform(m)
preprocessing.MinMaxScaler().fit_transform(m)
preprocessing.MinMaxScaler().fit(m)
preprocessing.Normalizer(norm="l1").fit_transform(m)
preprocessing.Normalizer(norm="l2").transform(m)
preprocessing.PolynomialFeatures(2).fit_transform(m)
preprocessing.StandardScaler().fit_transform(m)
preprocessing.StandardScaler().fit(m)
preprocessing.StandardScaler().fit(m).inverse_transform(m)
naive_bayes.GaussianNB().fit(points, classes)
naive_bayes.GaussianNB().fit(points, classes).predict(points)
naive_bayes.GaussianNB().fit(points, classes).predict_proba(points)
linear_model.Ridge(solver="svd").fit(points, x)
linear_model.Ridge(solver="svd").fit(points, x).predict(points)
linear_model.RidgeCV().fit(points, x).predict(points)
linear_model.RidgeClassifier(solver="svd").fit(points, classes).predict(points)
linear_model.RidgeClassifierCV().fit(points, classes).predict(points)
linear_model.LogisticRegression(solver="lbfgs").fit(points, classes).predict_proba(points)
linear_model.LogisticRegression(solver="lbfgs").fit(points, classes).predict(points)
linear_model.PoissonRegressor(solver="lbfgs").fit(points, x).predict(points)
discriminant_analysis.LinearDiscriminantAnalysis(solver="svd").fit(points, classes).transform(points)
discriminant_analysis.LinearDiscriminantAnalysis(solver="svd").fit(points, classes).predict_proba(points)
decomposition.PCA(2, svd_solver="full").fit(points)
decomposition.PCA(2, svd_solver="full").fit_transform(points)
decomposition.PCA(2, svd_solver="covariance_eigh").fit(points).transform(points)
decomposition.PCA(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=1).fit(points).inverse_transform(points[:, :2])
kernel_approximation.Nystroem(n_components=5, random_state=1).fit_transform(points)
mixture.GaussianMixture(3, covariance_type="tied", init_params="random", random_state=1, max_iter=3).fit(points).predict_proba(points)
mixture.GaussianMixture(3, reg_covar=0.1, init_params="random", random_state=1, max_iter=3).fit(points).score_samples(points)
mixture.GaussianMixture(3, covariance_type="diag", init_params="random", random_state=1, max_iter=3).fit(points).predict(points)
calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), method="temperature", cv=3).fit(points, classes).predict_proba(points)
pipeline.make_pipeline(preprocessing.StandardScaler(), naive_bayes.GaussianNB()).fit(points, classes).predict(points)
pipeline.FeatureUnion([("a", preprocessing.StandardScaler()), ("b", preprocessing.MinMaxScaler())]).fit_transform(m)
model_selection.GridSearchCV(naive_bayes.GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, cv=3).fit(points, classes).best_score_
model_selection.RandomizedSearchCV(naive_bayes.GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, n_iter=2, cv=3, random_state=0).fit(points, classes).predict(points)
model_selection.cross_val_predict(naive_bayes.GaussianNB(), points, classes, cv=3)
model_selection.train_test_split(points, classes, random_state=0)
"""

METRICS = """
metrics.accuracy_score(classes, found)
metrics.average_precision_score(sides, p)
metrics.balanced_accuracy_score(classes, found)
metrics.cohen_kappa_score(classes, found)
metrics.confusion_matrix(classes, found)
metrics.det_curve(sides, p)
metrics.f1_score(classes, found, average="macro")
metrics.fbeta_score(classes, found, beta=2, average="macro")
metrics.jaccard_score(classes, found, average="macro")
metrics.multilabel_confusion_matrix(classes, found)
metrics.precision_score(classes, found, average="macro")
metrics.precision_recall_curve(sides, p)
metrics.precision_recall_fscore_support(classes, found)
metrics.recall_score(classes, found, average="macro")
metrics.roc_curve(sides, p, drop_intermediate=False)
metrics.roc_auc_score(sides, p)
metrics.zero_one_loss(classes, found)
metrics.hamming_loss(classes, found)
metrics.brier_score_loss(sides, p)
metrics.log_loss(sides, p)
metrics.d2_brier_score(sides, p)
metrics.d2_log_loss_score(sides, p)
metrics.r2_score(x, y)
metrics.explained_variance_score(x, y)
metrics.mean_absolute_error(x, y)
metrics.mean_absolute_percentage_error(x, y)
metrics.mean_gamma_deviance(x, t)
metrics.mean_pinball_loss(x, y, alpha=0.3)
metrics.mean_poisson_deviance(x, t)
metrics.mean_squared_error(x, y)
metrics.mean_squared_log_error(x, t)
metrics.mean_tweedie_deviance(x, t, power=1.5)
metrics.median_absolute_error(x, y)
metrics.max_error(x, y)
metrics.root_mean_squared_error(x, y)
metrics.root_mean_squared_log_error(x, t)
metrics.d2_absolute_error_score(x, y)
metrics.d2_pinball_score(x, y, alpha=0.3)
metrics.d2_tweedie_score(x, t)
metrics.pairwise.additive_chi2_kernel(m)
metrics.pairwise.chi2_kernel(m)
metrics.pairwise.cosine_distances(m)
metrics.pairwise.cosine_similarity(m)
metrics.pairwise.euclidean_distances(m)
metrics.pairwise.laplacian_kernel(m)
metrics.pairwise.linear_kernel(m)
metrics.pairwise.manhattan_distances(m)
metrics.pairwise.paired_cosine_distances(m, m[::-1, :])
metrics.pairwise.paired_euclidean_distances(m, m[::-1, :])
metrics.pairwise.paired_manhattan_distances(m, m[::-1, :])
metrics.pairwise.pairwise_distances(m, metric="euclidean")
metrics.pairwise.pairwise_distances_argmin(m, square)
metrics.pairwise.pairwise_kernels(m, metric="rbf")
metrics.pairwise.polynomial_kernel(m)
metrics.pairwise.rbf_kernel(m)
metrics.pairwise.sigmoid_kernel(m)
"""

MODULES = (
    *("preprocessing", "naive_bayes", "linear_model", "discriminant_analysis", "decomposition"),
    *("kernel_approximation", "mixture", "calibration", "pipeline", "model_selection", "metrics"),
)
WAITS = {
    "mixture.GaussianMixture.fit.score_samples": VIEW,
    "metrics.roc_auc_score": "scikit-learn calls `diff` and `where` in ways that the standard lacks",
}
SCIKIT = Client(
    "scikit-learn",
    "sklearn",
    {name: f"sklearn.{name}" for name in (*MODULES, "metrics.pairwise")},
    ESTIMATORS + METRICS,
    WAITS,
    {"float32": 1e-3, "float64": 1e-7},
    frozenset({"calibration", "mixture", "model_selection"}),
)
